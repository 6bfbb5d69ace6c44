//! The room `cql_server`.
