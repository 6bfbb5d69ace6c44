//! The machine a report was made on, and the date.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

/// The client's machine.
#[derive(Debug, Clone, Serialize)]
pub struct Host {
    pub cpus: usize,
    /// Memory in bytes, where the system tells.
    pub mem_bytes: Option<u64>,
    pub kernel: Option<String>,
}

impl Host {
    pub(crate) fn read() -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let read = |path| std::fs::read_to_string(path).ok();
        let mem_bytes = read("/proc/meminfo").as_deref().and_then(memory_bytes);
        Self { cpus, mem_bytes, kernel: read("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned()) }
    }
}

fn memory_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

const DAY_S: u64 = 86_400;
/// Days of 400 years, after which the calendar repeats.
const CYCLE_DAYS: u64 = 146_097;
/// Days from 1 March of year 0 to 1 January 1970.
const EPOCH_DAYS: u64 = 719_468;

/// UTC as `2026-11-30T20:22:50Z`; times before 1970 count as 1970.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, second) = (seconds / DAY_S + EPOCH_DAYS, seconds % DAY_S);
    let (cycle, day) = (days / CYCLE_DAYS, days % CYCLE_DAYS);
    // Years begin in March, so the leap day is the last; each leap rule takes away the days it added before `day`.
    let year = (day - day / 1_460 + day / 36_524 - day / (CYCLE_DAYS - 1)) / 365;
    let day = day - (year * 365 + year / 4 - year / 100);
    // Five months from March on have 153 days together, in the pattern 31 30 31 30 31.
    let march_month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = cycle * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day_of_month:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_around_leap_days_are_right() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_200, "2024-03-01T00:00:00Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn memory_is_read_in_bytes() {
        assert_eq!(memory_bytes("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16_777_216));
        assert_eq!(memory_bytes("nothing"), None);
    }
}
