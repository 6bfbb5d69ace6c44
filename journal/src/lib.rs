//! The room `journal`.
