//! The room `auth`.
