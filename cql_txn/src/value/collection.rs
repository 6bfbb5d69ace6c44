//! Lists, sets, maps, tuples and user types: taken apart, put together, changed in part.

use super::Type;
use crate::encoding::Reader;
use std::borrow::Cow;
use std::cmp::Ordering;

/// The elements of a collection, `width` for each entry; `None` if the bytes are no collection without nulls.
pub(super) fn entries(bytes: &[u8], width: usize) -> Option<Vec<&[u8]>> {
    let mut from = Reader(bytes);
    let count = usize::try_from(from.u32()?).ok()?.checked_mul(width)?;
    if count.checked_mul(4)? > from.0.len() {
        return None;
    }
    let mut items = Vec::with_capacity(count);
    for _ in 0..count {
        let length = usize::try_from(from.u32()? as i32).ok()?;
        items.push(from.take(length)?);
    }
    from.end(items)
}

/// A collection of `items`, `width` for each entry.
pub(super) fn build<T: AsRef<[u8]>>(items: &[T], width: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(4 + items.iter().map(|item| item.as_ref().len() + 4).sum::<usize>());
    out.extend_from_slice(&((items.len() / width) as u32).to_be_bytes());
    for item in items {
        out.extend_from_slice(&(item.as_ref().len() as u32).to_be_bytes());
        out.extend_from_slice(item.as_ref());
    }
    out
}

pub(super) fn sorted_set(of: &Type, mut items: Vec<Cow<'_, [u8]>>) -> Vec<u8> {
    items.sort_by(|left, right| of.compare(left, right));
    items.dedup_by(|left, right| of.compare(left, right) == Ordering::Equal);
    build(&items, 1)
}

/// Key and value.
pub(super) type Entry<'v> = (Cow<'v, [u8]>, Cow<'v, [u8]>);

/// Of two entries with one key the later one stays.
pub(super) fn sorted_map(key: &Type, mut pairs: Vec<Entry<'_>>) -> Vec<u8> {
    pairs.reverse();
    pairs.sort_by(|left, right| key.compare(&left.0, &right.0));
    pairs.dedup_by(|left, right| key.compare(&left.0, &right.0) == Ordering::Equal);
    let items: Vec<Cow<'_, [u8]>> = pairs.into_iter().flat_map(|(key, value)| [key, value]).collect();
    build(&items, 2)
}

/// The `count` components of a tuple; those that are missing at the end are null.
pub(super) fn components(bytes: &[u8], count: usize) -> Option<Vec<Option<&[u8]>>> {
    let mut from = Reader(bytes);
    let mut found = Vec::with_capacity(count);
    while found.len() < count && !from.is_empty() {
        let length = from.u32()? as i32;
        found.push(match usize::try_from(length) {
            Ok(length) => Some(from.take(length)?),
            Err(_) => None,
        });
    }
    found.resize(count, None);
    from.end(found)
}

pub(super) fn build_components<T: AsRef<[u8]>>(values: &[Option<T>]) -> Vec<u8> {
    let mut out = Vec::new();
    for value in values {
        match value {
            None => out.extend_from_slice(&(-1i32).to_be_bytes()),
            Some(value) => {
                out.extend_from_slice(&(value.as_ref().len() as u32).to_be_bytes());
                out.extend_from_slice(value.as_ref());
            }
        }
    }
    out
}

/// Where an element of a list stands: its index as an int.
fn place(index: &[u8]) -> Option<usize> {
    index.try_into().ok().map(i32::from_be_bytes).and_then(|index| usize::try_from(index).ok())
}

/// The element of a list by index, of a set by itself, of a map by key.
pub(crate) fn element<'v>(ty: &Type, value: &'v [u8], key: &[u8]) -> Option<&'v [u8]> {
    match ty.thawed() {
        Type::List(_) => entries(value, 1)?.get(place(key)?).copied(),
        Type::Set(of) => entries(value, 1)?.into_iter().find(|item| of.compare(item, key) == Ordering::Equal),
        Type::Map(of) => {
            let items = entries(value, 2)?;
            let (pairs, _) = items.as_chunks::<2>();
            pairs.iter().find(|pair| of.0.compare(pair[0], key) == Ordering::Equal).map(|pair| pair[1])
        }
        _ => None,
    }
}

/// The types of the components of a tuple or user type.
pub(crate) fn parts(ty: &Type) -> Vec<&Type> {
    match ty.thawed() {
        Type::Tuple(of) => of.iter().collect(),
        Type::User(of) => of.fields.iter().map(|(_, ty)| ty).collect(),
        _ => Vec::new(),
    }
}

/// A field of a user type.
pub(crate) fn field<'v>(ty: &Type, value: &'v [u8], number: usize) -> Option<&'v [u8]> {
    *components(value, parts(ty).len())?.get(number)?
}

/// A value of a collection, tuple or user type from its parts; `None` is a null part.
///
/// *Errors*: a part is null where none may be.
pub(crate) fn composite(ty: &Type, parts: Vec<Option<Cow<'_, [u8]>>>) -> Result<Vec<u8>, String> {
    if matches!(ty.thawed(), Type::Tuple(_) | Type::User(_)) {
        return Ok(build_components(&parts));
    }
    let Some(parts) = parts.into_iter().collect::<Option<Vec<_>>>() else {
        return Err("null cannot be an element of a collection".to_owned());
    };
    Ok(match ty.thawed() {
        Type::Set(of) => sorted_set(of, parts),
        Type::Map(of) => {
            let mut parts = parts.into_iter();
            let mut pairs = Vec::new();
            while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
                pairs.push((key, value));
            }
            sorted_map(&of.0, pairs)
        }
        _ => build(&parts, 1),
    })
}

impl Type {
    /// A collection with the elements of `operand` added; `first` puts those of a list in front.
    pub(crate) fn with(&self, old: &[u8], operand: &[u8], first: bool) -> Option<Vec<u8>> {
        let width = if matches!(self.thawed(), Self::Map(_)) { 2 } else { 1 };
        let (front, back) = if first { (operand, old) } else { (old, operand) };
        let mut items = entries(front, width)?;
        items.extend(entries(back, width)?);
        let items = items.into_iter().map(|item| Some(Cow::Borrowed(item))).collect();
        composite(self, items).ok()
    }

    /// A collection without the elements of `operand`: those of a list or set, the keys of a map.
    pub(crate) fn without(&self, old: &[u8], operand: &[u8]) -> Option<Vec<u8>> {
        let gone = entries(operand, 1)?;
        let has = |ty: &Self, item: &[u8]| gone.iter().any(|known| ty.compare(known, item) == Ordering::Equal);
        match self.thawed() {
            Self::List(of) | Self::Set(of) => {
                let mut items = entries(old, 1)?;
                items.retain(|item| !has(of, item));
                Some(build(&items, 1))
            }
            Self::Map(of) => {
                let items = entries(old, 2)?;
                let (pairs, _) = items.as_chunks::<2>();
                let kept = pairs.iter().filter(|pair| !has(&of.0, pair[0])).flatten().copied();
                Some(build(&kept.collect::<Vec<_>>(), 2))
            }
            _ => None,
        }
    }

    /// A collection or user type with one part replaced, or removed if `value` is null.
    ///
    /// *Errors*: a list has no element at that index.
    pub(crate) fn with_part(
        &self,
        old: Option<&[u8]>,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<Option<Vec<u8>>, String> {
        const EMPTY: &[u8] = &[0; 4];
        let damaged = || "the stored value is damaged".to_owned();
        match self.thawed() {
            Self::List(_) => {
                let mut items = entries(old.unwrap_or(EMPTY), 1).ok_or_else(damaged)?;
                let at = place(key)
                    .filter(|at| *at < items.len())
                    .ok_or_else(|| format!("the list has {} elements; there is none at this index", items.len()))?;
                match value {
                    Some(value) => items[at] = value,
                    None => drop(items.remove(at)),
                }
                Ok(Some(build(&items, 1)))
            }
            Self::Map(_) => match value {
                Some(value) => Ok(self.with(old.unwrap_or(EMPTY), &build(&[key, value], 2), false)),
                None => Ok(old.and_then(|old| self.without(old, &build(&[key], 1)))),
            },
            Self::Set(_) => Ok(old.and_then(|old| self.without(old, &build(&[key], 1)))),
            _ => {
                let mut found = components(old.unwrap_or_default(), parts(self).len()).ok_or_else(damaged)?;
                let number = <[u8; 2]>::try_from(key).map_or(usize::MAX, |number| u16::from_be_bytes(number).into());
                *found.get_mut(number).ok_or_else(damaged)? = value;
                Ok(found.iter().any(Option::is_some).then(|| build_components(&found)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(items: &[&[u8]]) -> Vec<u8> {
        build(items, 1)
    }

    #[test]
    fn collections_change_in_part() {
        let ty = Type::List(Box::new(Type::TinyInt));
        let old = list(&[&[1], &[2], &[1]]);
        assert_eq!(ty.with(&old, &list(&[&[9]]), true), Some(list(&[&[9], &[1], &[2], &[1]])));
        assert_eq!(ty.without(&old, &list(&[&[1]])), Some(list(&[&[2]])));
        assert_eq!(ty.with_part(Some(&old), &[0, 0, 0, 1], Some(&[7])), Ok(Some(list(&[&[1], &[7], &[1]]))));
        assert_eq!(ty.with_part(Some(&old), &[0, 0, 0, 1], None), Ok(Some(list(&[&[1], &[1]]))));
        assert!(ty.with_part(Some(&old), &[0, 0, 0, 3], Some(&[7])).is_err());
        assert!(ty.with_part(None, &[0; 4], Some(&[7])).is_err());
        assert_eq!(element(&ty, &old, &[0, 0, 0, 1]), Some(&[2][..]));
        assert_eq!(element(&ty, &old, &[0xff; 4]), None);
    }

    #[test]
    fn the_later_entry_of_a_key_stays() {
        let ty = Type::Map(Box::new((Type::TinyInt, Type::TinyInt)));
        let old = build(&[&[2u8][..], &[20], &[1], &[10]], 2);
        let sorted = ty.canonical(&old).unwrap();
        assert_eq!(ty.with(&sorted, &build(&[&[2u8][..], &[21]], 2), false), Some(build(&[[1u8], [10], [2], [21]], 2)));
        assert_eq!(ty.with_part(Some(&sorted), &[2], None), Ok(Some(build(&[[1u8], [10]], 2))));
        assert_eq!(element(&ty, &sorted, &[2]), Some(&[20][..]));
    }
}
