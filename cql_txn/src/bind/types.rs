//! Types as they are written, to types as they are.

use crate::ast::TypeName;
use crate::error::Error;
use crate::schema::Schema;
use crate::value::{DEPTH_MAX, Type};

/// The type called `name` in `keyspace`, whose own types may be named.
pub(super) fn resolve(name: &TypeName, schema: &Schema, keyspace: &str) -> Result<Type, Error> {
    let ty = of(name, schema, keyspace)?;
    if depth(&ty) > DEPTH_MAX {
        return Err(Error::invalid(name.name.at, format!("the type nests deeper than {DEPTH_MAX} levels")));
    }
    if let Some(inner) = open_part(&ty) {
        let message = format!("{} inside another type must be frozen: write frozen<{0}>", inner.cql_name());
        return Err(Error::invalid(name.name.at, message));
    }
    Ok(ty)
}

fn of(name: &TypeName, schema: &Schema, keyspace: &str) -> Result<Type, Error> {
    let arguments = name.arguments.iter().map(|argument| of(argument, schema, keyspace));
    let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
    let text = &*name.name.text;
    let ty = match (text, &arguments[..]) {
        ("list", [of]) => Some(Type::List(Box::new(of.clone()))),
        ("set", [of]) => Some(Type::Set(Box::new(of.clone()))),
        ("map", [key, value]) => Some(Type::Map(Box::new((key.clone(), value.clone())))),
        ("tuple", [_, ..]) => Some(Type::Frozen(Box::new(Type::Tuple(arguments.clone())))),
        ("frozen", [of]) => Some(Type::Frozen(Box::new(of.thawed().clone()))),
        (_, []) => Type::named(text).or_else(|| {
            let of = schema.keyspaces.get(keyspace)?.types.get(text)?;
            Some(Type::User(Box::new(of.clone())))
        }),
        _ => None,
    };
    ty.ok_or_else(|| {
        Error::invalid(name.name.at, format!("unknown type {text}, or with parameters that it does not take"))
    })
}

fn depth(ty: &Type) -> usize {
    1 + match ty.thawed() {
        Type::List(of) | Type::Set(of) => depth(of),
        Type::Map(of) => depth(&of.0).max(depth(&of.1)),
        Type::Tuple(of) => of.iter().map(depth).max().unwrap_or_default(),
        Type::User(of) => of.fields.iter().map(|(_, ty)| depth(ty)).max().unwrap_or_default(),
        _ => 0,
    }
}

/// A part of an open type that is open itself.
fn open_part(ty: &Type) -> Option<&Type> {
    let parts: Vec<&Type> = match ty {
        Type::List(of) | Type::Set(of) => vec![&**of],
        Type::Map(of) => vec![&of.0, &of.1],
        Type::User(of) => of.fields.iter().map(|(_, ty)| ty).collect(),
        _ => Vec::new(),
    };
    parts.into_iter().find(|part| part.is_open())
}
