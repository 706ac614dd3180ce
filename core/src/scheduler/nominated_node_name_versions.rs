//! In which version of a pod the scheduler has written `status.nominatedNodeName` itself.
//!
//! ```text
//!  patch wanted ──▶ Expected ──answer, version 6──▶ Written(6) ── an event below 6 changes nothing held
//!                      │ event 7                       │ an event from 6 on says what the status says
//!                      └──answer, version 6──▶ what event 7 said counts
//! ```
//!
//! A watch may break between our write and its event, and others may write before it lists again: the list
//! says what the last event said, and yet it is news. Versions tell that from an event that is merely older
//! than our write.
//!
//! Differs: upstream cannot tell (backend/queue/nominator.go `UpdateNominatedPod` keeps what it holds
//! whenever neither the old nor the new object of an update names a node)
//! (`relist_without_our_nominated_node_name_clears_the_nominator`).

use rustc_hash::FxHashMap;

use crate::ids::PodUid;

/// Versions of one pod, 0 before there is one.
#[derive(Clone, Copy, Debug, Default)]
struct Versions {
    /// The newest that the watch has told of since a patch is wanted.
    seen: u64,
    /// The newest that an answer has told of.
    written: u64,
}

/// A version that the watch tells of, beside the one we have written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    /// We have written nothing, as far as is known.
    Unknown,
    /// It is older.
    BeforeOurs,
    /// It is the same or newer.
    AfterOurs,
}

/// What an answer says beyond what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The watch will tell of what was written.
    Ahead,
    /// The watch was faster, and has told of this version or a later one.
    Overtaken,
    /// Nothing: the version is not known, or the pod is gone.
    Nothing,
}

/// Pods whose nomination the scheduler has written and that are on no node yet.
#[derive(Clone, Debug, Default)]
pub(super) struct NominatedNodeNameVersions {
    by_pod: FxHashMap<PodUid, Versions>,
}

impl NominatedNodeNameVersions {
    /// A patch that says something of a pod's nomination is wanted.
    pub(super) fn expect(&mut self, pod: PodUid) {
        self.by_pod.entry(pod).or_default();
    }

    /// The watch tells of a version of a pod.
    #[inline]
    pub(super) fn see(&mut self, pod: PodUid, version: u64) -> Age {
        if self.by_pod.is_empty() {
            return Age::Unknown;
        }
        let Some(versions) = self.by_pod.get_mut(&pod) else { return Age::Unknown };
        versions.seen = versions.seen.max(version);
        match versions.written {
            0 => Age::Unknown,
            written if version < written => Age::BeforeOurs,
            _ => Age::AfterOurs,
        }
    }

    /// The API took a patch; the pod has this version now.
    pub(super) fn answer(&mut self, pod: PodUid, version: u64) -> Answer {
        let Some(versions) = self.by_pod.get_mut(&pod).filter(|_| version > 0) else {
            return Answer::Nothing;
        };
        versions.written = versions.written.max(version);
        if versions.seen < version { Answer::Ahead } else { Answer::Overtaken }
    }

    /// A pod is gone or on a node.
    #[inline]
    pub(super) fn delete(&mut self, pod: PodUid) {
        if !self.by_pod.is_empty() {
            self.by_pod.remove(&pod);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_resource_version_of_watch_or_patch_answer_decides() {
        let pod = PodUid(1);
        let mut own = NominatedNodeNameVersions::default();
        assert_eq!(own.see(pod, 3), Age::Unknown, "nothing was written");
        assert_eq!(own.answer(pod, 3), Answer::Nothing);
        own.expect(pod);
        assert_eq!(own.see(pod, 5), Age::Unknown);
        assert_eq!(own.answer(pod, 6), Answer::Ahead);
        assert_eq!(own.see(pod, 5), Age::BeforeOurs);
        assert_eq!(own.see(pod, 6), Age::AfterOurs, "the event of the write itself");
        assert_eq!(own.see(pod, 9), Age::AfterOurs);
        assert_eq!(own.answer(pod, 8), Answer::Overtaken);
        assert_eq!(own.answer(pod, 0), Answer::Nothing, "the version is not known");
        own.delete(pod);
        assert_eq!(own.answer(pod, 20), Answer::Nothing);
        assert_eq!(own.see(pod, 1), Age::Unknown);
    }
}
