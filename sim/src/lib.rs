//! The room `sim`.
pub mod checker;
