//! Types as bytes: in the native protocol, and in a plan.

use super::{SIMPLE, Type, UserType};
use crate::encoding::{Reader, put_count};

impl Type {
    /// Appends its option of the native protocol: id, then the options of its parts.
    pub fn put_option(&self, out: &mut Vec<u8>) {
        let text = |out: &mut Vec<u8>, text: &str| {
            out.extend_from_slice(&(text.len() as u16).to_be_bytes());
            out.extend_from_slice(text.as_bytes());
        };
        out.extend_from_slice(&self.option_id().to_be_bytes());
        match self.thawed() {
            Self::List(of) | Self::Set(of) => of.put_option(out),
            Self::Map(of) => {
                of.0.put_option(out);
                of.1.put_option(out);
            }
            Self::Tuple(of) => {
                out.extend_from_slice(&(of.len() as u16).to_be_bytes());
                of.iter().for_each(|ty| ty.put_option(out));
            }
            Self::User(of) => {
                text(out, &of.keyspace);
                text(out, &of.name);
                out.extend_from_slice(&(of.fields.len() as u16).to_be_bytes());
                for (name, ty) in &of.fields {
                    text(out, name);
                    ty.put_option(out);
                }
            }
            _ => {}
        }
    }

    /// Appends what a plan needs of it: option id with the top bit for frozen, then its parts. Names are left out.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let frozen = if matches!(self, Self::Frozen(_)) { FROZEN } else { 0 };
        out.push(self.option_id() as u8 | frozen);
        match self.thawed() {
            Self::List(of) | Self::Set(of) => of.put(out),
            Self::Map(of) => {
                of.0.put(out);
                of.1.put(out);
            }
            Self::Tuple(of) => {
                put_count(out, of.len());
                of.iter().for_each(|ty| ty.put(out));
            }
            Self::User(of) => {
                put_count(out, of.fields.len());
                of.fields.iter().for_each(|(_, ty)| ty.put(out));
            }
            _ => {}
        }
    }

    pub(crate) fn take_from(from: &mut Reader<'_>) -> Option<Self> {
        Self::take_at(from, DEPTH_MAX)
    }

    fn take_at(from: &mut Reader<'_>, depth: usize) -> Option<Self> {
        let code = from.u8()?;
        let depth = depth.checked_sub(1)?;
        let part = |from: &mut Reader<'_>| Self::take_at(from, depth);
        let ty = match code & !FROZEN {
            0x20 => Self::List(Box::new(part(from)?)),
            0x21 => Self::Map(Box::new((part(from)?, part(from)?))),
            0x22 => Self::Set(Box::new(part(from)?)),
            0x30 => {
                let count = from.count_of(1)?;
                let fields = (0..count).map(|_| Some((String::new(), part(from)?))).collect::<Option<_>>()?;
                Self::User(Box::new(UserType { keyspace: String::new(), name: String::new(), fields }))
            }
            0x31 => {
                let count = from.count_of(1)?;
                Self::Tuple((0..count).map(|_| part(from)).collect::<Option<_>>()?)
            }
            id => SIMPLE.iter().find(|(_, _, known)| *known == u16::from(id)).map(|(ty, _, _)| ty.clone())?,
        };
        Some(if code & FROZEN == 0 { ty } else { Self::Frozen(Box::new(ty)) })
    }
}

const FROZEN: u8 = 0x80;

/// Deepest nesting of types.
pub(crate) const DEPTH_MAX: usize = 8;
