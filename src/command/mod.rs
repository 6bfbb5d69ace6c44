//! The sub-commands of the binary, one file each.
