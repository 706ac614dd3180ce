//! How many API calls of which kind were made, and how they ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::record::{CallEnd, CallKind};
use crate::api::ApiError;

/// Counts of one kind of call.
#[derive(Debug, Default)]
pub(super) struct Ended {
    well: AtomicU64,
    badly: AtomicU64,
}

impl Ended {
    /// Adds a batch's results.
    pub(super) fn count<T>(&self, results: &[Result<T, ApiError>]) {
        let failed = results.iter().filter(|result| result.is_err()).count() as u64;
        self.well.fetch_add(results.len() as u64 - failed, Ordering::Relaxed);
        self.badly.fetch_add(failed, Ordering::Relaxed);
    }
}

/// Counts by kind.
#[derive(Debug, Default)]
pub(super) struct CallTotals {
    pub(super) bindings: Ended,
    pub(super) status_patches: Ended,
}

/// Lets others count the calls of a runtime, also when it has ended.
#[derive(Clone, Debug)]
pub struct CallsView(pub(super) Arc<CallTotals>);

impl CallsView {
    /// Calls by kind and result.
    #[must_use]
    pub fn totals(&self) -> [(CallKind, CallEnd, u64); 4] {
        let CallTotals { bindings, status_patches } = self.0.as_ref();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        [
            (CallKind::PodBinding, CallEnd::Success, count(&bindings.well)),
            (CallKind::PodBinding, CallEnd::Error, count(&bindings.badly)),
            (CallKind::PodStatusPatch, CallEnd::Success, count(&status_patches.well)),
            (CallKind::PodStatusPatch, CallEnd::Error, count(&status_patches.badly)),
        ]
    }
}
