//! What kube-scheduler is known to miss, and whether we miss it as well.
//!
//! Decisions are the same either way: a gap concerns what wakes a waiting pod and whose nominations are
//! respected, never which node fits. `docs/reliability.md` lists the gaps with the tests that show them.

/// Whether known gaps of kube-scheduler are closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KnownGaps {
    /// They are: no pod that fits waits for the unschedulable flush.
    #[default]
    Mended,
    /// They are as upstream has them, to be measured.
    Upstream,
}
