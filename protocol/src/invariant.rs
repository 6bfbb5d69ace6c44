//! Checks that stay on, and checks that cost too much to stay on.

/// Ends the process if a bug has broken what must hold: going on would break agreement.
#[macro_export]
macro_rules! invariant {
    ($cond:expr, $($why:tt)+) => {
        if !$cond {
            panic!("invariant broken: {}: {}", stringify!($cond), format_args!($($why)+));
        }
    };
}

/// As [`invariant!`], in builds with debug assertions (tests and simulation) only: its cost grows with the state.
#[macro_export]
macro_rules! paranoid {
    ($cond:expr, $($why:tt)+) => {
        if cfg!(debug_assertions) {
            $crate::invariant!($cond, $($why)+);
        }
    };
}
