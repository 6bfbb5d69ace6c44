//! The shell.
mod block;
mod splitter;
