//! The room `client`.
