//! Constants of a statement as values of a type.

use super::number::{decimal_from, varint_from};
use super::{Type, calendar};

/// A constant as it stands in a text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ScalarText<'t> {
    Integer(&'t str),
    Float(&'t str),
    Text(&'t str),
    Boolean(bool),
    Blob(&'t [u8]),
    Uuid(&'t str),
}

/// The bytes of a constant as a value of `ty`; the error says why it is none.
pub(crate) fn from_text(ty: &Type, constant: ScalarText<'_>) -> Result<Vec<u8>, String> {
    let name = ty.cql_name();
    let fits = |value: Option<Vec<u8>>, text: &str| value.ok_or_else(|| format!("{text} does not fit type {name}"));
    let wrong = |found: &str| Err(format!("a value of type {name} expected, found {found}"));
    match (ty.thawed(), constant) {
        (Type::Boolean, ScalarText::Boolean(value)) => Ok(vec![u8::from(value)]),
        (Type::Blob, ScalarText::Blob(bytes)) => Ok(bytes.to_vec()),
        (Type::Uuid | Type::TimeUuid, ScalarText::Uuid(text)) => {
            let bytes = uuid(text).ok_or_else(|| format!("{text} is no uuid"))?;
            ty.check(&bytes).map(|()| bytes)
        }
        (_, ScalarText::Integer(digits)) => match integer(ty.thawed(), digits) {
            Some(value) => fits(value, digits),
            None => wrong("a number"),
        },
        (_, ScalarText::Float(digits)) => match ty.thawed() {
            Type::Double | Type::Float => fits(floating(ty.thawed(), digits), digits),
            Type::Decimal => fits(decimal_from(digits), digits),
            _ => wrong("a number with a point"),
        },
        (_, ScalarText::Text(text)) => match string(ty.thawed(), text) {
            Some(value) => value.ok_or_else(|| format!("'{text}' is no {name}")),
            None => wrong("a string"),
        },
        (_, ScalarText::Boolean(_)) => wrong("a boolean"),
        (_, ScalarText::Blob(_)) => wrong("a blob"),
        (_, ScalarText::Uuid(_)) => wrong("a uuid"),
    }
}

/// The outer `None`: this type takes no integers.
fn integer(ty: &Type, digits: &str) -> Option<Option<Vec<u8>>> {
    Some(match ty {
        Type::BigInt | Type::Counter | Type::Timestamp => digits.parse::<i64>().ok().map(|n| n.to_be_bytes().to_vec()),
        Type::Int => digits.parse::<i32>().ok().map(|n| n.to_be_bytes().to_vec()),
        Type::SmallInt => digits.parse::<i16>().ok().map(|n| n.to_be_bytes().to_vec()),
        Type::TinyInt => digits.parse::<i8>().ok().map(|n| n.to_be_bytes().to_vec()),
        Type::Date => digits.parse::<u32>().ok().map(|n| n.to_be_bytes().to_vec()),
        Type::Time => {
            let bytes = digits.parse::<i64>().ok().map(|n| n.to_be_bytes().to_vec());
            bytes.filter(|bytes| calendar::is_time_of_day(bytes))
        }
        Type::VarInt => varint_from(digits).map(|n| n.to_signed_bytes_be()),
        Type::Decimal => decimal_from(digits),
        Type::Double | Type::Float => floating(ty, digits),
        _ => return None,
    })
}

fn floating(ty: &Type, digits: &str) -> Option<Vec<u8>> {
    match ty {
        Type::Float => digits.parse::<f32>().ok().map(|n| n.to_be_bytes().to_vec()),
        _ => digits.parse::<f64>().ok().map(|n| n.to_be_bytes().to_vec()),
    }
}

/// The outer `None`: this type takes no strings.
fn string(ty: &Type, text: &str) -> Option<Option<Vec<u8>>> {
    Some(match ty {
        Type::Text => Some(text.as_bytes().to_vec()),
        Type::Ascii => text.is_ascii().then(|| text.as_bytes().to_vec()),
        Type::Inet => text.parse().ok().map(|address| match address {
            std::net::IpAddr::V4(address) => address.octets().to_vec(),
            std::net::IpAddr::V6(address) => address.octets().to_vec(),
        }),
        Type::Timestamp => calendar::moment(text).map(|n| n.to_be_bytes().to_vec()),
        Type::Date => calendar::date(text).map(|n| n.to_be_bytes().to_vec()),
        Type::Time => calendar::time_of_day(text).map(|n| n.to_be_bytes().to_vec()),
        _ => return None,
    })
}

fn uuid(text: &str) -> Option<Vec<u8>> {
    let digits: String = text.chars().filter(|digit| *digit != '-').collect();
    crate::encoding::unhex(&digits).filter(|bytes| bytes.len() == 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn law_text_of_a_number_or_uuid_comes_back(int: i64, wide: i128, double in -1e300f64..1e300, uuid: [u8; 16]) {
            let integer = |ty, digits: String| from_text(&ty, ScalarText::Integer(&digits)).unwrap();
            for (ty, value) in [
                (Type::BigInt, int.to_be_bytes().to_vec()),
                (Type::Int, (int as i32).to_be_bytes().to_vec()),
                (Type::SmallInt, (int as i16).to_be_bytes().to_vec()),
                (Type::TinyInt, (int as i8).to_be_bytes().to_vec()),
            ] {
                let digits = super::super::number::integer(&value).to_string();
                prop_assert_eq!(integer(ty, digits), value);
            }
            let varint = integer(Type::VarInt, wide.to_string());
            prop_assert!(Type::VarInt.check(&varint).is_ok());
            prop_assert_eq!(num_bigint::BigInt::from_signed_bytes_be(&varint).to_string(), wide.to_string());
            let bytes = from_text(&Type::Double, ScalarText::Float(&double.to_string())).unwrap();
            prop_assert_eq!(bytes, double.to_be_bytes());
            let digits: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
            prop_assert_eq!(from_text(&Type::Uuid, ScalarText::Uuid(&digits)).unwrap(), uuid);
        }
    }

    #[test]
    fn bounds_of_numbers_are_exact() {
        let of = |ty, digits| from_text(&ty, ScalarText::Integer(digits));
        assert_eq!(of(Type::TinyInt, "-128"), Ok(vec![0x80]));
        assert!(of(Type::TinyInt, "128").is_err() && of(Type::SmallInt, "32768").is_err());
        assert_eq!(of(Type::SmallInt, "32767"), Ok(vec![0x7f, 0xff]));
        assert!(of(Type::Time, "86400000000000").is_err() && of(Type::Time, "-1").is_err());
        assert_eq!(of(Type::VarInt, "-129"), Ok(vec![0xff, 0x7f]));
        assert!(of(Type::Text, "1").is_err());
    }

    #[test]
    fn strings_stand_for_what_the_type_makes_of_them() {
        let of = |ty, text| from_text(&ty, ScalarText::Text(text));
        assert_eq!(of(Type::Inet, "127.0.0.1"), Ok(vec![127, 0, 0, 1]));
        assert_eq!(of(Type::Inet, "::1").map(|bytes| bytes.len()), Ok(16));
        assert_eq!(of(Type::Date, "1970-01-02"), Ok(vec![0x80, 0, 0, 1]));
        assert!(of(Type::Ascii, "ä").is_err() && of(Type::Timestamp, "soon").is_err());
        assert!(from_text(&Type::TimeUuid, ScalarText::Uuid("5b6962dd-3f90-4c93-8f61-eabfa4a803e2")).is_err());
    }
}
