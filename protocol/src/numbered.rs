//! Enums whose numbers are on wire and disk.

/// Declares a fieldless enum with fixed numbers that travels as its number, never as its name.
macro_rules! numbered {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $number:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
        #[serde(into = "u8", try_from = "u8")]
        #[repr(u8)]
        pub enum $name { $($(#[$doc])* $variant = $number,)+ }

        impl $name {
            /// All, in order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
        }

        impl From<$name> for u8 {
            fn from(value: $name) -> Self {
                value as Self
            }
        }

        impl TryFrom<u8> for $name {
            type Error = String;

            fn try_from(number: u8) -> Result<Self, String> {
                let found = Self::ALL.iter().copied().find(|value| *value as u8 == number);
                found.ok_or_else(|| format!("{} has no number {number}", stringify!($name)))
            }
        }
    };
}

pub(crate) use numbered;
