//! The room `transport`.
