//! Panics on demand, to prove that a process in which an actor has died ends, and comes back from its disk.
//!
//! Only builds with the feature `mutants` have it; elsewhere a place costs nothing and cannot be planted.

#[cfg(feature = "mutants")]
pub(super) use planted::hit;

/// Marks a place where a panic can be planted.
#[cfg(not(feature = "mutants"))]
#[inline(always)]
pub(super) fn hit(_place: &str) {}

#[cfg(feature = "mutants")]
mod planted {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// `PLACE`, or `PLACE:N` for the N-th time that it is passed: a node passes most places while it starts, and must get as far as
    /// having something in memory that is worth losing.
    const VARIABLE: &str = "ACCORDD_PANIC_AT";

    struct Planted {
        place: String,
        nth: u64,
        passed: AtomicU64,
    }

    impl Planted {
        fn parse(text: &str) -> Self {
            let counted = text.split_once(':').and_then(|(place, nth)| Some((place, nth.parse().ok()?)));
            let (place, nth) = counted.unwrap_or((text, 1));
            Self { place: place.to_owned(), nth, passed: AtomicU64::new(0) }
        }

        /// Whether this is the place, passed for the N-th time.
        fn is_due(&self, place: &str) -> bool {
            self.place == place && self.passed.fetch_add(1, Ordering::Relaxed) + 1 == self.nth
        }
    }

    /// Panics if this is the place that the environment names.
    pub(in crate::node) fn hit(place: &str) {
        static PLANTED: OnceLock<Option<Planted>> = OnceLock::new();
        let planted = PLANTED.get_or_init(|| std::env::var(VARIABLE).ok().map(|text| Planted::parse(&text)));
        if planted.as_ref().is_some_and(|planted| planted.is_due(place)) {
            panic!("planted at {place}");
        }
    }

    #[cfg(test)]
    mod tests {
        use super::Planted;

        #[test]
        fn a_place_is_due_once_and_no_other_is() {
            let planted = Planted::parse("store-apply:2");
            assert!(!planted.is_due("store-apply"));
            assert!(!planted.is_due("journal"));
            assert!(planted.is_due("store-apply"));
            assert!(!planted.is_due("store-apply"));
            assert!(Planted::parse("replay").is_due("replay"));
        }
    }
}
