//! What controllers must do, in plain rules over shapes that share no code with them: which pods the taint
//! eviction controller evicts, and at which tick; which taints the node lifecycle controller sets.

use std::collections::BTreeMap;
use std::sync::Arc;

use schedlab_cluster::api::{ApiError, NodeEntry, StatusReason, StoredPodRow};
use schedlab_cluster::controllers::{ControllerAnswer, ControllerRequest, node_lifecycle, taint_eviction};
use schedlab_core::ids::PodUid;

use super::check::{is_leaving, number_of_name};
use super::run::Simulation;
use super::shape::{NoExecuteToleration, NodeShape, PodShape};
use super::violation::Invariant;

const SECOND: u64 = 1_000_000_000;
/// Upstream: tainteviction/taint_eviction.go `retries`.
const TRIES_MAX: u8 = 5;

/// Whether a pod may stay on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stay {
    Forever,
    Seconds(u16),
    No,
}

/// What admission lets every pod tolerate a node that is not ready.
const UNREADY_S: u16 = 300;

fn stay(pod: &PodShape, node: &NodeShape) -> Stay {
    if !pod.execution_terms_match(node) {
        return Stay::No;
    }
    let by_taint = match pod.no_execute {
        _ if !node.evicting => Stay::Forever,
        NoExecuteToleration::None => Stay::No,
        NoExecuteToleration::Seconds(seconds) => Stay::Seconds(seconds.into()),
        NoExecuteToleration::Forever => Stay::Forever,
    };
    match by_taint {
        Stay::No => Stay::No,
        stay if !node.unready_taint => stay,
        Stay::Forever => Stay::Seconds(UNREADY_S),
        Stay::Seconds(seconds) => Stay::Seconds(seconds.min(UNREADY_S)),
    }
}

/// How a pod stands with the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It stays; until then, if its seconds run.
    Stays { until_ns: Option<u64> },
    /// It must be evicted at this very tick; whether because its seconds are over.
    Due { is_by_time: bool },
    /// Its eviction was begun, and so many calls of it have failed.
    Leaving { failures: u8 },
    /// Its eviction has failed five times. It may be evicted when its node changes.
    GivenUp,
    /// Its eviction was taken.
    Evicted,
}

/// What the taint eviction controller must do about each pod that it was told of.
#[derive(Debug, Default)]
pub(super) struct Evictions {
    pods: BTreeMap<PodUid, Standing>,
}

impl Evictions {
    /// Seconds that are over make an eviction due.
    pub(super) fn advance(&mut self, now_ns: u64) {
        for standing in self.pods.values_mut() {
            if let Standing::Stays { until_ns: Some(until_ns) } = *standing
                && until_ns <= now_ns
            {
                *standing = Standing::Due { is_by_time: true };
            }
        }
    }

    fn note(&mut self, pod: PodUid, stay: Option<Stay>, now_ns: u64) {
        let standing = self.pods.entry(pod).or_insert(Standing::Stays { until_ns: None });
        let Standing::Stays { until_ns } = standing else { return };
        match stay {
            // Its node is not there: what was begun goes on.
            None => {}
            Some(Stay::Forever) => *until_ns = None,
            Some(Stay::Seconds(seconds)) => {
                until_ns.get_or_insert(now_ns + u64::from(seconds) * SECOND);
            }
            Some(Stay::No) => *standing = Standing::Due { is_by_time: false },
        }
    }

    /// Whether the controller may make this call.
    fn judge(&mut self, request: &ControllerRequest) -> Result<(), (Invariant, String)> {
        let Some(pod) = request.pod() else { return Ok(()) };
        let is_deletion = matches!(request, ControllerRequest::DeletePod(_));
        let wrong = |invariant, what: &str| Err((invariant, format!("pod {} {what}", pod.0)));
        let Some(standing) = self.pods.get_mut(&pod) else {
            return wrong(Invariant::EvictionsAreDue, "is evicted, but it is gone or on its way out");
        };
        match *standing {
            Standing::Leaving { .. } if is_deletion => Ok(()),
            _ if is_deletion => wrong(Invariant::EffectsOnce, "is deleted, but not being evicted"),
            Standing::Leaving { failures: 0 } | Standing::Evicted => {
                wrong(Invariant::EffectsOnce, "is evicted a second time")
            }
            Standing::Leaving { .. } => Ok(()),
            Standing::Stays { until_ns: None } => {
                wrong(Invariant::EvictionsAreDue, "is evicted although its node suits it")
            }
            Standing::Stays { until_ns: Some(_) } => {
                wrong(Invariant::TolerationSeconds, "is evicted before its tolerationSeconds are over")
            }
            Standing::Due { .. } | Standing::GivenUp => {
                *standing = Standing::Leaving { failures: 0 };
                Ok(())
            }
        }
    }

    /// Takes over how a call ended.
    pub(super) fn note_answer(
        &mut self,
        request: &ControllerRequest,
        answer: &Result<ControllerAnswer, ApiError>,
    ) {
        let Some(standing) = request.pod().and_then(|pod| self.pods.get_mut(&pod)) else { return };
        let Standing::Leaving { failures } = *standing else { return };
        let is_deletion = matches!(request, ControllerRequest::DeletePod(_));
        match answer {
            Ok(_) if is_deletion => *standing = Standing::Evicted,
            Ok(_) => {}
            Err(error) if error.reason == StatusReason::NotFound => *standing = Standing::Evicted,
            Err(_) if failures + 1 == TRIES_MAX => *standing = Standing::GivenUp,
            Err(_) => *standing = Standing::Leaving { failures: failures + 1 },
        }
    }
}

fn runs(row: &StoredPodRow) -> bool {
    row.node.is_some() && !row.phase.is_finished() && !is_leaving(row)
}

impl Simulation<'_> {
    fn evicts(&self, at: usize) -> bool {
        self.controllers[at].descriptor().name == taint_eviction::DESCRIPTOR.name
    }

    fn stay_of(&self, row: &StoredPodRow, nodes: &BTreeMap<u8, Arc<NodeEntry>>) -> Option<Stay> {
        let entry = nodes.get(&row.node.map(number_of_name)?)?;
        Some(stay(self.shape_of(row), self.node_shapes.get(&entry.resource_version)?))
    }

    /// Notes what a controller that evicts must do by what it was told.
    pub(super) fn expect_evictions(&mut self, at: usize) {
        if !self.evicts(at) {
            return;
        }
        let now_ns = self.now_ns();
        let mut evictions = std::mem::take(&mut self.controllers[at].evictions);
        let seen = &self.controllers[at].seen;
        evictions.pods.retain(|pod, _| seen.pods.get(pod).is_some_and(runs));
        for row in seen.pods.values().filter(|row| runs(row)) {
            evictions.note(row.uid, self.stay_of(row, &seen.nodes), now_ns);
        }
        self.controllers[at].evictions = evictions;
    }

    pub(super) fn judge_controller_call(&mut self, at: usize, request: &ControllerRequest) {
        if !self.evicts(at) {
            return;
        }
        self.checks.note(Invariant::EvictionsAreDue);
        if let Err((invariant, message)) = self.controllers[at].evictions.judge(request) {
            self.fail(invariant, || message);
        }
    }

    /// After its turn a controller has begun every eviction that is due.
    pub(super) fn check_evictions_are_made(&mut self, at: usize) {
        if !self.evicts(at) {
            return;
        }
        self.checks.note(Invariant::TolerationSeconds);
        let due = self.controllers[at].evictions.pods.iter().find_map(|(pod, standing)| match standing {
            Standing::Due { is_by_time } => Some((pod.0, *is_by_time)),
            _ => None,
        });
        match due {
            None => {}
            Some((pod, true)) => self.fail(Invariant::TolerationSeconds, || {
                format!("pod {pod} is not evicted although its tolerationSeconds are over")
            }),
            Some((pod, false)) => self.fail(Invariant::NothingOverstays, || {
                format!("pod {pod} is not evicted although its node does not suit it")
            }),
        }
    }

    /// What holds when nothing moves any more.
    pub(super) fn check_controllers_at_rest(&mut self) {
        for at in 0..self.controllers.len() {
            let differences = self.controllers[at].seen.differences(&self.truth);
            assert_eq!(differences, 0, "at rest every event has arrived");
            let name = self.controllers[at].descriptor().name;
            if name == taint_eviction::DESCRIPTOR.name {
                self.check_overstaying(at);
            } else if name == node_lifecycle::DESCRIPTOR.name {
                self.check_condition_taints();
            }
        }
    }

    fn check_overstaying(&mut self, at: usize) {
        self.checks.note(Invariant::NothingOverstays);
        let given_up =
            |pod: &PodUid| self.controllers[at].evictions.pods.get(pod) == Some(&Standing::GivenUp);
        let overstays = |row: &&StoredPodRow| {
            runs(row)
                && !given_up(&row.uid)
                && self.stay_of(row, &self.truth.nodes).is_some_and(|stay| stay != Stay::Forever)
        };
        let found = self.truth.pods.values().find(overstays).map(|row| row.uid.0);
        if let Some(pod) = found {
            self.fail(Invariant::NothingOverstays, || {
                format!("pod {pod} stays on a node that does not suit it")
            });
        }
    }

    fn check_condition_taints(&mut self) {
        self.checks.note(Invariant::ConditionTaints);
        let shape_of = |entry: &Arc<NodeEntry>| self.node_shapes.get(&entry.resource_version);
        let stale = self.truth.nodes.iter().find(|(_, entry)| {
            shape_of(entry).is_some_and(|shape| shape.unready_taint && shape.conditions & 1 == 0)
        });
        if let Some(number) = stale.map(|(number, _)| *number) {
            self.fail(Invariant::ConditionTaints, || {
                format!("n{number} is ready and still has the taint NoExecute of a node that is not")
            });
            return;
        }
        let wrong = self.truth.nodes.iter().find_map(|(number, entry)| {
            let shape = shape_of(entry)?;
            let (is, must) = (shape.condition_taints, shape.wanted_condition_taints());
            (is != must).then_some((*number, is, must))
        });
        if let Some((number, is, must)) = wrong {
            self.fail(Invariant::ConditionTaints, || {
                format!("n{number} has condition taints {is:#06b}, its conditions say {must:#06b}")
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pod_stays_by_its_execution_terms_and_tolerations() {
        let pod = PodShape {
            no_execute: NoExecuteToleration::Seconds(5),
            execution_terms: Some((0, 1)),
            ..PodShape::default()
        };
        let node = NodeShape { role: Some(1), ..NodeShape::default() };
        let cases = [
            ("the second term matches", node, Stay::Forever),
            ("no term matches", NodeShape { role: Some(2), ..node }, Stay::No),
            ("no label", NodeShape { role: None, ..node }, Stay::No),
            ("tolerated for a while", NodeShape { evicting: true, ..node }, Stay::Seconds(5)),
            (
                "not ready: as long as admission says",
                NodeShape { unready_taint: true, ..node },
                Stay::Seconds(300),
            ),
            (
                "not ready and tainted: the shorter time",
                NodeShape { unready_taint: true, evicting: true, ..node },
                Stay::Seconds(5),
            ),
            ("terms do not wait", NodeShape { role: None, evicting: true, ..node }, Stay::No),
        ];
        for (name, node, expected) in cases {
            assert_eq!(stay(&pod, &node), expected, "case: {name}");
        }
        let evicting = NodeShape { evicting: true, ..NodeShape::default() };
        assert_eq!(stay(&PodShape::default(), &evicting), Stay::No);
    }

    #[test]
    fn eviction_is_due_at_the_tick_at_which_the_seconds_are_over() {
        let pod = PodUid(1);
        let call = ControllerRequest::DeletePod(pod);
        let mut evictions = Evictions::default();
        evictions.note(pod, Some(Stay::Seconds(5)), 100);
        evictions.advance(5 * SECOND + 99);
        assert!(evictions.judge(&call).is_err(), "a tick early");
        evictions.note(pod, Some(Stay::Seconds(5)), 1000);
        evictions.advance(5 * SECOND + 100);
        assert_eq!(evictions.pods[&pod], Standing::Due { is_by_time: true });
    }
}
