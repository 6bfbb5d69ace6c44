//! The room `coordinator`.
