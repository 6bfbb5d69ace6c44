//! The room `cql_txn`.
