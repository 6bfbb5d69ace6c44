//! How many connections the file descriptors of this process allow.
//!
//! Clients come in any number, and each takes a descriptor; what the journal and the peer links need must not be taken by them.

/// Descriptors that are left to the rest of the node, beside an eighth of all.
const KEPT: usize = 40;

/// `wanted` connections, or as many as leave descriptors to the rest of the node.
pub(crate) fn connections_within(wanted: usize, files_max: Option<usize>) -> usize {
    let allowed = files_max.map_or(wanted, |files| files.saturating_sub(KEPT + files / 8));
    wanted.min(allowed.max(1))
}

/// The limit of open files of this process; `None` where the system does not say, or sets none.
pub(crate) fn files_max() -> Option<usize> {
    soft_limit(&std::fs::read_to_string("/proc/self/limits").ok()?)
}

fn soft_limit(limits: &str) -> Option<usize> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_limit_is_the_first_number() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max processes             unlimited            unlimited            processes \n\
                      Max open files            1024                 524288               files     \n";
        assert_eq!(soft_limit(limits), Some(1024));
        assert_eq!(soft_limit(&limits.replace("1024 ", "unlimited ")), None);
        assert_eq!(soft_limit(""), None);
    }

    #[test]
    fn clients_leave_descriptors_to_the_node() {
        assert_eq!(connections_within(4096, Some(64)), 16);
        assert_eq!(connections_within(4096, Some(1024)), 856);
        assert_eq!(connections_within(100, Some(1 << 20)), 100);
        assert_eq!(connections_within(4096, Some(3)), 1);
        assert_eq!(connections_within(4096, None), 4096);
    }
}
