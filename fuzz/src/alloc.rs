//! How much memory a call took: an allocator that counts for the thread that asks.
#![allow(unsafe_code, reason = "the allocator is the only place that sees every allocation")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counting. A test program makes it its global one.
pub struct CountingAllocator;

/// *Units*: bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spent {
    /// Most held at once beyond what was held before.
    pub peak: usize,
    /// All that was asked for, given back or not.
    pub total: usize,
}

#[derive(Clone, Copy)]
struct Counts {
    held: isize,
    peak: isize,
    total: usize,
}

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts { held: 0, peak: 0, total: 0 }) };
}

fn count(change: isize) {
    // A thread that is ending has no counts any more.
    let _ = COUNTS.try_with(|counts| {
        let mut now = counts.get();
        now.held += change;
        now.peak = now.peak.max(now.held);
        now.total += usize::try_from(change).unwrap_or(0);
        counts.set(now);
    });
}

// SAFETY: every call goes to the system's allocator unchanged; counting touches no memory it handed out.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size as isize - layout.size() as isize);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(place, layout, new_size) }
    }
}

/// Runs `call` and tells what it took; zeros where [`CountingAllocator`] is not the global one.
pub fn spent_by<T>(call: impl FnOnce() -> T) -> (T, Spent) {
    let before = COUNTS.get();
    COUNTS.set(Counts { held: before.held, peak: before.held, total: 0 });
    let result = call();
    let after = COUNTS.get();
    COUNTS.set(Counts { total: before.total + after.total, peak: before.peak.max(after.peak), ..after });
    (result, Spent { peak: (after.peak - before.held).max(0) as usize, total: after.total })
}
