//! The room `command_store`.
