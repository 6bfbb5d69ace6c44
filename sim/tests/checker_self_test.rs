//! The exact checkers against brute force (reliability figure 8; the full million runs from the command line).

use sim::checker::self_test;

#[test]
fn judges_agree_with_brute_force_on_tiny_histories() {
    let report = self_test(100_000, 0x5eed);
    assert!(report.is_clean(), "{report}");
    println!("{report}");
    // An agreement on nothing proves nothing: both verdicts and every class of cycle must have been met.
    assert!(report.correct_count > 50_000 && report.correct_count < 90_000, "{report}");
    for class in [
        "incompatible order",
        "duplicate write",
        "unknown writer",
        "unrequested write",
        "aborted read",
        "lost write",
        "torn transaction",
        "lost update",
        "G0",
        "G1c",
        "G-single",
        "G2",
        "G0-realtime",
        "G1c-realtime",
        "G-single-realtime",
        "G2-realtime",
    ] {
        assert!(report.class_counts.contains_key(class), "{class} was never met\n{report}");
    }
}
