//! What is said of a pod group as a whole.
//!
//! Upstream: kube-scheduler/framework/interface.go `Status`, with its error and its reasons apart.

use std::sync::Arc;

/// What the status of a group that finds no place begins with. Upstream: `errPodGroupUnschedulable`.
pub const POD_GROUP_UNSCHEDULABLE: &str = "pod group is unschedulable";

/// The codes a pod group's status may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PodGroupCode {
    /// The group has a place.
    #[default]
    Success,
    /// It may still find one.
    Wait,
    /// It has none now.
    Unschedulable,
    /// It has none, and evictions would not help.
    UnschedulableAndUnresolvable,
    /// Something failed.
    Error,
}

impl PodGroupCode {
    /// Upstream's name of the code.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PodGroupCode::Success => "Success",
            PodGroupCode::Wait => "Wait",
            PodGroupCode::Unschedulable => "Unschedulable",
            PodGroupCode::UnschedulableAndUnresolvable => "UnschedulableAndUnresolvable",
            PodGroupCode::Error => "Error",
        }
    }
}

/// A code and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodGroupStatus {
    /// The code.
    pub code: PodGroupCode,
    /// The error behind it; it comes before the reasons.
    pub error: Option<Arc<str>>,
    /// Why.
    pub reasons: Vec<Arc<str>>,
}

impl PodGroupStatus {
    /// The group has a place.
    #[must_use]
    pub fn success() -> PodGroupStatus {
        PodGroupStatus::default()
    }

    /// A code with a reason.
    #[must_use]
    pub fn new(code: PodGroupCode, reason: impl Into<Arc<str>>) -> PodGroupStatus {
        PodGroupStatus { code, error: None, reasons: vec![reason.into()] }
    }

    /// Something failed. Upstream: `AsStatus`.
    #[must_use]
    pub fn failed(error: impl Into<Arc<str>>) -> PodGroupStatus {
        PodGroupStatus { code: PodGroupCode::Error, error: Some(error.into()), reasons: Vec::new() }
    }

    /// The group finds no place, for these reasons.
    #[must_use]
    pub fn unschedulable(reasons: Vec<Arc<str>>) -> PodGroupStatus {
        let error = Some(Arc::from(POD_GROUP_UNSCHEDULABLE));
        PodGroupStatus { code: PodGroupCode::Unschedulable, error, reasons }
    }

    /// The group has a place.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.code == PodGroupCode::Success
    }

    /// A plugin said no, now or for good.
    #[must_use]
    pub fn is_rejected(&self) -> bool {
        matches!(self.code, PodGroupCode::Unschedulable | PodGroupCode::UnschedulableAndUnresolvable)
    }

    /// All that is said, the error first.
    pub fn all_reasons(&self) -> impl Iterator<Item = &str> + '_ {
        self.error.iter().chain(&self.reasons).map(AsRef::as_ref)
    }

    /// All that is said, in one line. Upstream: `Message`.
    #[must_use]
    pub fn message(&self) -> String {
        let reasons: Vec<&str> = self.all_reasons().collect();
        reasons.join(", ")
    }

    /// What is said when the status is taken for an error. Upstream: `AsError`.
    #[must_use]
    pub fn error_text(&self) -> String {
        self.error.as_ref().map_or_else(|| self.message(), ToString::to_string)
    }
}

/// How far a pass over the members is, and what the gang's minCount makes of it.
///
/// Upstream: gangscheduling.go `PlacementFeasible`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacementProgress {
    /// How many members have to be on nodes; 0 when nobody asks.
    pub min_count: usize,
    /// Members on nodes, those of this pass included.
    pub scheduled: usize,
    /// Members that were not tried yet.
    pub remaining: usize,
}

impl PlacementProgress {
    /// Whether minCount is reached, may be reached, or cannot be.
    #[inline]
    #[must_use]
    pub fn code(self) -> PodGroupCode {
        if self.scheduled + self.remaining < self.min_count {
            PodGroupCode::Unschedulable
        } else if self.scheduled < self.min_count {
            PodGroupCode::Wait
        } else {
            PodGroupCode::Success
        }
    }

    /// The same with words.
    #[must_use]
    pub fn status(self) -> PodGroupStatus {
        let PlacementProgress { min_count, scheduled, remaining } = self;
        let what = match self.code() {
            PodGroupCode::Unschedulable => "cannot be satisfied",
            PodGroupCode::Wait => "is not yet satisfied",
            _ => return PodGroupStatus::success(),
        };
        let reason = format!("minCount ({min_count}) {what}: {scheduled} scheduled, {remaining} remaining");
        PodGroupStatus::new(self.code(), reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gang_waits_while_enough_members_remain() {
        let progress = |scheduled, remaining| PlacementProgress { min_count: 3, scheduled, remaining };
        let cases = [
            (
                progress(0, 3),
                PodGroupCode::Wait,
                "minCount (3) is not yet satisfied: 0 scheduled, 3 remaining",
            ),
            (
                progress(0, 2),
                PodGroupCode::Unschedulable,
                "minCount (3) cannot be satisfied: 0 scheduled, 2 remaining",
            ),
            (progress(3, 0), PodGroupCode::Success, ""),
            (progress(4, 2), PodGroupCode::Success, ""),
        ];
        for (progress, code, message) in cases {
            assert_eq!((progress.code(), progress.status().message().as_str()), (code, message));
        }
    }

    #[test]
    fn error_stands_before_the_reasons() {
        let status = PodGroupStatus::unschedulable(vec!["a".into(), "b".into()]);
        assert_eq!(status.message(), "pod group is unschedulable, a, b");
        assert_eq!(status.error_text(), "pod group is unschedulable");
        assert_eq!(PodGroupStatus::new(PodGroupCode::Unschedulable, "a").error_text(), "a");
    }
}
