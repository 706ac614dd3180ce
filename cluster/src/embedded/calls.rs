//! Call counters: relaxed atomics for pods and nodes, a map for the other resources.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::api::ApiCallCounts;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Get,
    List,
    Watch,
    Post,
    Put,
    Patch,
    Delete,
}

/// The names of the verbs, in the order of the enum.
const VERBS: [&str; 7] = ["GET", "LIST", "WATCH", "POST", "PUT", "PATCH", "DELETE"];

/// To what it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target<'a> {
    Pods,
    PodStatus,
    PodBinding,
    Nodes,
    NodeStatus,
    /// `plural` or `plural/subresource`.
    Other(&'a str),
}

/// The targets with a counter of their own, in the order of the enum.
const HOT_TARGETS: [&str; 5] = ["pods", "pods/status", "pods/binding", "nodes", "nodes/status"];

/// How the calls of a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) calls: u64,
    pub(super) failed: u64,
}

impl Tally {
    /// One call.
    pub(super) fn of<T, E>(result: &Result<T, E>) -> Self {
        Self { calls: 1, failed: u64::from(result.is_err()) }
    }

    /// One call for each result.
    pub(super) fn of_all<T, E>(results: &[Result<T, E>]) -> Self {
        let failed = results.iter().filter(|result| result.is_err()).count() as u64;
        Self { calls: results.len() as u64, failed }
    }
}

#[derive(Debug, Default)]
struct Counter {
    calls: AtomicU64,
    failed: AtomicU64,
}

/// All counters of a cluster.
#[derive(Debug, Default)]
pub(super) struct Calls {
    hot: [[Counter; HOT_TARGETS.len()]; VERBS.len()],
    others: Mutex<BTreeMap<String, Tally>>,
}

impl Calls {
    /// Counts calls of one verb on one target.
    pub(super) fn add(&self, verb: Verb, target: Target<'_>, tally: Tally) {
        let hot = match target {
            Target::Pods => 0,
            Target::PodStatus => 1,
            Target::PodBinding => 2,
            Target::Nodes => 3,
            Target::NodeStatus => 4,
            Target::Other(resource) => return self.add_other(verb, resource, tally),
        };
        let counter = &self.hot[verb as usize][hot];
        counter.calls.fetch_add(tally.calls, Ordering::Relaxed);
        if 0 < tally.failed {
            counter.failed.fetch_add(tally.failed, Ordering::Relaxed);
        }
    }

    fn add_other(&self, verb: Verb, resource: &str, tally: Tally) {
        let mut others = self.others.lock().expect("counting does not panic");
        let key = format!("{} {resource}", VERBS[verb as usize]);
        let sum = others.entry(key).or_insert(Tally { calls: 0, failed: 0 });
        sum.calls += tally.calls;
        sum.failed += tally.failed;
    }

    /// A reading of all counters that have counted.
    pub(super) fn read(&self) -> ApiCallCounts {
        let mut counts = ApiCallCounts::default();
        let mut note = |key: String, tally: Tally| {
            if 0 < tally.failed {
                counts.failed.insert(key.clone(), tally.failed);
            }
            if 0 < tally.calls {
                counts.calls.insert(key, tally.calls);
            }
        };
        for (verb, row) in VERBS.iter().zip(&self.hot) {
            for (target, counter) in HOT_TARGETS.iter().zip(row) {
                let tally = Tally {
                    calls: counter.calls.load(Ordering::Relaxed),
                    failed: counter.failed.load(Ordering::Relaxed),
                };
                note(format!("{verb} {target}"), tally);
            }
        }
        for (key, &tally) in self.others.lock().expect("counting does not panic").iter() {
            note(key.clone(), tally);
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_verb_and_resource() {
        let calls = Calls::default();
        calls.add(Verb::Post, Target::PodBinding, Tally { calls: 3, failed: 1 });
        calls.add(Verb::Post, Target::Pods, Tally::of::<(), ()>(&Ok(())));
        calls.add(Verb::Get, Target::Other("services"), Tally::of::<(), ()>(&Err(())));
        let counts = calls.read();
        let keys: Vec<(&str, u64)> = counts.calls.iter().map(|(key, &count)| (&**key, count)).collect();
        assert_eq!(keys, [("GET services", 1), ("POST pods", 1), ("POST pods/binding", 3)]);
        let failed: Vec<(&str, u64)> = counts.failed.iter().map(|(key, &count)| (&**key, count)).collect();
        assert_eq!(failed, [("GET services", 1), ("POST pods/binding", 1)]);
    }
}
