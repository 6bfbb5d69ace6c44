//! The room `workload`.
