//! What kube-scheduler is known to miss, and whether we miss it as well.
//!
//! A gap concerns what wakes a waiting pod, and whether nominations of another scheduler's pods hold room
//! (kubernetes#130429); with one scheduler decisions are the same either way. `docs/reliability.md` lists
//! the gaps with the tests that show them.

/// Whether known gaps of kube-scheduler are closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KnownGaps {
    /// They are: no pod that fits waits for the unschedulable flush.
    #[default]
    Mended,
    /// They are as upstream has them, to be measured.
    Upstream,
}
