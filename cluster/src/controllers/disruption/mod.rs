//! The status of disruption budgets: how many pods of each may go now.
//!
//! ```text
//!   pods under the budget ─▶ healthy ─┐
//!   minAvailable, maxUnavailable ─────┴▶ disruptionsAllowed = healthy - desired ──▶ PUT status
//!   evicted, not gone yet (disruptedPods) ── not counted, for two minutes
//! ```
//!
//! Upstream: pkg/controller/disruption/disruption.go `trySync`, `getExpectedPodCount`, `updatePdbStatus`.
//! Not built: a pod whose controller is of a kind that nobody here knows counts as unmanaged instead of failing
//! the look; conditions of the budget are not written; the condition `DisruptionTarget` of a pod that was not
//! deleted after all is not taken back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use schedlab_core::ids::PodUid;
use schedlab_core::input::LabelSelectorInput;
use serde_json::{Map, Value, json};

use super::owned::{controller_of, is_ready};
use super::pod_template::{name, namespace, pointer, selector, uid, whole, with_status};
use super::work::Work;
use super::{
    CallToken, Controller, ControllerAnswer, ControllerCall, ControllerConfigError, ControllerContext,
    ControllerDescriptor, ControllerMutant, ControllerMutants, ControllerReport, ControllerRequest,
    ControllerSettings, PodsWatched, Remaining, Sharding, SideTables, WatchScope,
};
use crate::api::{
    ApiError, EventKind, GenericObject, NamespaceId, Object, PodFlags, PodName, SpecId, StatusReason,
    StoredPodRow, WatchEvent, WatchedObject,
};
use crate::selector as labels;

/// Its line in the list of controllers.
pub const DESCRIPTOR: ControllerDescriptor = ControllerDescriptor {
    name: "disruption-controller",
    about: "keeps the status of PodDisruptionBudgets: how many of their pods may be evicted",
    started_by_feature_gate: None,
    scope: WatchScope { nodes: false, pods: PodsWatched::All, kinds: KINDS },
    sharding: Sharding::None,
    constructor: new,
};

const KINDS: &[(&str, &str)] = &[
    ("policy/v1", "PodDisruptionBudget"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
    ("v1", "ReplicationController"),
];

/// Upstream: `DeletionTimeout`: so long is an evicted pod taken to be on its way out.
const DELETION_TIMEOUT_NS: u64 = 120_000_000_000;

fn new(settings: &ControllerSettings) -> Result<Box<dyn Controller>, ControllerConfigError> {
    settings.expect_no_config()?;
    Ok(Box::new(Disruption { mutants: settings.mutants, ..Disruption::default() }))
}

/// Namespace and name.
type Path = (String, String);

#[derive(Debug)]
struct Budget {
    object: Arc<GenericObject>,
    selector: Option<LabelSelectorInput>,
    /// Whether it is about pods of a body.
    about: FxHashMap<SpecId, bool>,
}

#[derive(Clone, Copy, Debug)]
struct SeenPod {
    spec: SpecId,
    namespace: NamespaceId,
    name: PodName,
    is_ready: bool,
    is_terminating: bool,
}

/// The controller.
#[derive(Debug, Default)]
struct Disruption {
    budgets: BTreeMap<Path, Budget>,
    pods: BTreeMap<PodUid, SeenPod>,
    /// `spec.replicas` by the UID of the controller.
    scales: FxHashMap<String, i64>,
    controllers: FxHashMap<SpecId, Option<Arc<str>>>,
    work: Work<Path, ()>,
    /// When an evicted pod is taken to stay after all.
    recheck: BTreeSet<(u64, Path)>,
    synced: u64,
    written: u64,
    mutants: ControllerMutants,
}

/// What a budget's status is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Count {
    current: i64,
    desired: i64,
    expected: i64,
    allowed: i64,
    disrupted: Map<String, Value>,
}

impl Disruption {
    fn on_budget(&mut self, kind: EventKind, object: &Arc<GenericObject>) {
        let path = path_of(object);
        if kind == EventKind::Deleted {
            self.budgets.remove(&path);
            self.work.forget(&path);
            return;
        }
        let selector = selector(object, "/spec/selector");
        let known = self.budgets.get(&path);
        if known.is_some_and(|known| object.resource_version < known.object.resource_version) {
            return;
        }
        let about = match self.budgets.remove(&path) {
            Some(known) if known.selector == selector => known.about,
            _ => FxHashMap::default(),
        };
        self.budgets.insert(path.clone(), Budget { object: Arc::clone(object), selector, about });
        self.work.mark(&path);
    }

    fn on_pod(&mut self, kind: EventKind, row: &StoredPodRow, tables: SideTables<'_>) {
        let seen = SeenPod {
            spec: row.spec,
            namespace: row.namespace,
            name: row.name,
            is_ready: is_ready(row.conditions, tables),
            is_terminating: row.flags.contains(PodFlags::TERMINATING),
        };
        let before = match kind {
            EventKind::Deleted => self.pods.remove(&row.uid),
            EventKind::Added | EventKind::Modified => self.pods.insert(row.uid, seen),
        };
        if self.budgets.is_empty() {
            return;
        }
        let namespace = tables.namespace_name(row.namespace);
        for seen in before.into_iter().chain([seen]) {
            let first = (namespace.to_string(), String::new());
            let inside = self.budgets.range_mut(first..).take_while(|((of, _), _)| **of == *namespace);
            for (path, budget) in inside {
                if is_about(budget, seen.spec, tables) {
                    self.work.mark(path);
                }
            }
        }
    }

    fn on_scale(&mut self, kind: EventKind, object: &GenericObject) {
        let scale = whole(object, "/spec/replicas").unwrap_or(1);
        let before = match kind {
            EventKind::Deleted => self.scales.remove(uid(object)),
            EventKind::Added | EventKind::Modified => self.scales.insert(uid(object).to_owned(), scale),
        };
        if before != Some(scale) || kind == EventKind::Deleted {
            let inside = namespace(object);
            let paths: Vec<Path> = self.budgets.keys().filter(|(of, _)| of == inside).cloned().collect();
            paths.iter().for_each(|path| self.work.mark(path));
        }
    }

    /// Upstream: `getExpectedScale`: the replicas of all controllers of the pods.
    fn expected_scale(&mut self, specs: &FxHashSet<SpecId>, tables: SideTables<'_>) -> i64 {
        let mut counted = FxHashSet::default();
        let mut sum = 0;
        for &spec in specs {
            let find = || {
                let entry = tables.pod_spec(spec);
                controller_of(&entry.object.metadata).map(|owner| Arc::from(owner.uid.as_str()))
            };
            let Some(owner) = self.controllers.entry(spec).or_insert_with(find).clone() else { continue };
            let Some(&scale) = self.scales.get(&*owner) else { continue };
            if counted.insert(owner) {
                sum += scale;
            }
        }
        sum
    }

    fn pods_under(&mut self, path: &Path, tables: SideTables<'_>) -> Vec<SeenPod> {
        let Some(budget) = self.budgets.get_mut(path) else { return Vec::new() };
        let mut under = Vec::new();
        for seen in self.pods.values() {
            if *tables.namespace_name(seen.namespace) == *path.0 && is_about(budget, seen.spec, tables) {
                under.push(*seen);
            }
        }
        under
    }

    fn count(&mut self, path: &Path, context: ControllerContext<'_>) -> Option<Count> {
        let tables = context.tables;
        let object = Arc::clone(&self.budgets.get(path)?.object);
        let under = self.pods_under(path, tables);
        let specs: FxHashSet<SpecId> = under.iter().map(|seen| seen.spec).collect();
        let (expected, desired) = match (part(&object, "maxUnavailable"), part(&object, "minAvailable")) {
            (Some(most), _) => {
                let expected = self.expected_scale(&specs, tables);
                (expected, (expected - most.of(expected)).max(0))
            }
            (None, Some(Part::Number(least))) => (i64::try_from(under.len()).unwrap_or(i64::MAX), least),
            (None, Some(least)) => {
                let expected = self.expected_scale(&specs, tables);
                (expected, least.of(expected))
            }
            (None, None) => (0, 0),
        };
        let disrupted = self.disrupted(path, &object, &under, context);
        let is_healthy = |seen: &&SeenPod| {
            let is_going = !disrupted.is_empty() && disrupted.contains_key(&tables.pod_name(seen.name));
            seen.is_ready && !seen.is_terminating && !is_going
        };
        let current = i64::try_from(under.iter().filter(is_healthy).count()).unwrap_or(i64::MAX);
        let spare = current - desired + i64::from(self.mutants.has(ControllerMutant::BudgetIsOneTooMany));
        let allowed = if expected <= 0 { 0 } else { spare.max(0) };
        Some(Count { current, desired, expected, allowed, disrupted })
    }

    /// Pods that were evicted a short while ago and are still there. Upstream: `buildDisruptedPodMap`.
    fn disrupted(
        &mut self,
        path: &Path,
        budget: &GenericObject,
        under: &[SeenPod],
        context: ControllerContext<'_>,
    ) -> Map<String, Value> {
        let mut kept = Map::new();
        let Some(Value::Object(listed)) = pointer(budget, "/status/disruptedPods") else { return kept };
        for seen in under.iter().filter(|seen| !seen.is_terminating) {
            let name = context.tables.pod_name(seen.name);
            let Some(at) = listed.get(&name) else { continue };
            let time: Option<k8s_openapi::jiff::Timestamp> = at.as_str().and_then(|text| text.parse().ok());
            let since_s = time.map_or(0, |time| u64::try_from(time.as_second()).unwrap_or(0));
            let until_ns = since_s.saturating_mul(1_000_000_000).saturating_add(DELETION_TIMEOUT_NS);
            if context.now_ns <= until_ns {
                self.recheck.insert((until_ns + 1, path.clone()));
                kept.insert(name, at.clone());
            }
        }
        kept
    }

    fn sync(&mut self, path: &Path, context: ControllerContext<'_>) -> Option<ControllerCall> {
        self.synced += 1;
        let count = self.count(path, context)?;
        let object = &self.budgets.get(path)?.object;
        let is = |key: &str| whole(object, &format!("/status/{key}"));
        let listed = pointer(object, "/status/disruptedPods").and_then(Value::as_object);
        let is_same = is("currentHealthy") == Some(count.current)
            && is("desiredHealthy") == Some(count.desired)
            && is("expectedPods") == Some(count.expected)
            && is("disruptionsAllowed") == Some(count.allowed)
            && listed.cloned().unwrap_or_default() == count.disrupted;
        if is_same {
            return None;
        }
        let mut status = json!({
            "currentHealthy": count.current,
            "desiredHealthy": count.desired,
            "expectedPods": count.expected,
            "disruptionsAllowed": count.allowed,
            "observedGeneration": object.metadata.generation.unwrap_or(0),
        });
        if !count.disrupted.is_empty() {
            status["disruptedPods"] = Value::Object(count.disrupted);
        }
        let request = ControllerRequest::UpdateStatus(Object::Other(Box::new(with_status(object, status))));
        Some(ControllerCall { token: self.work.call(path, ()), request })
    }

    /// The next look starts from what was written, although the watch has not told of it yet.
    fn on_written(&mut self, path: &Path, object: &Object) {
        self.written += 1;
        self.work.succeeded(path);
        if let (Some(budget), Object::Other(object)) = (self.budgets.get_mut(path), object)
            && budget.object.resource_version < object.resource_version
        {
            budget.object = Arc::new((**object).clone());
        }
    }
}

fn path_of(object: &GenericObject) -> Path {
    (namespace(object).to_owned(), name(object).to_owned())
}

fn is_about(budget: &mut Budget, spec: SpecId, tables: SideTables<'_>) -> bool {
    let Budget { selector, about, .. } = budget;
    let Some(selector) = selector else { return false };
    let matches = || labels::matches(selector, &tables.pod_spec(spec).input.labels);
    *about.entry(spec).or_insert_with(matches)
}

/// A number of pods, or a part of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Number(i64),
    Percent(i64),
}

impl Part {
    /// Upstream: apimachinery intstr `GetScaledValueFromIntOrPercent`, rounded up.
    fn of(self, whole: i64) -> i64 {
        match self {
            Part::Number(number) => number,
            Part::Percent(percent) => (whole.saturating_mul(percent) + 99).div_euclid(100),
        }
    }
}

fn part(budget: &GenericObject, field: &str) -> Option<Part> {
    match pointer(budget, &format!("/spec/{field}"))? {
        Value::Number(number) => number.as_i64().map(Part::Number),
        Value::String(text) => text.strip_suffix('%')?.parse().ok().map(Part::Percent),
        _ => None,
    }
}

impl Controller for Disruption {
    fn on_event(&mut self, event: &WatchEvent, context: ControllerContext<'_>) {
        match &event.object {
            WatchedObject::Pod(row) => self.on_pod(event.kind, row, context.tables),
            WatchedObject::Other(object) if object.kind == "PodDisruptionBudget" => {
                self.on_budget(event.kind, object);
            }
            WatchedObject::Other(object) => self.on_scale(event.kind, object),
            WatchedObject::Node(_) | WatchedObject::PodEvent(_) => {}
        }
    }

    fn advance(&mut self, context: ControllerContext<'_>) {
        self.work.advance(context.now_ns);
        while self.recheck.first().is_some_and(|(due_ns, _)| *due_ns <= context.now_ns) {
            if let Some((_, path)) = self.recheck.pop_first() {
                self.work.mark(&path);
            }
        }
    }

    fn next_wake_ns(&self) -> Option<u64> {
        let recheck_ns = self.recheck.first().map(|(due_ns, _)| *due_ns);
        [self.work.next_wake_ns(), recheck_ns].into_iter().flatten().min()
    }

    fn take_calls(&mut self, context: ControllerContext<'_>, into: &mut Vec<ControllerCall>) {
        for path in self.work.take() {
            into.extend(self.sync(&path, context));
        }
    }

    fn on_answer(
        &mut self,
        token: CallToken,
        answer: &Result<ControllerAnswer, ApiError>,
        context: ControllerContext<'_>,
    ) {
        let Some((path, ())) = self.work.answered(token) else { return };
        match answer {
            Ok(ControllerAnswer::Object(object)) => self.on_written(&path, object),
            Ok(_) => {}
            Err(error) if error.reason == StatusReason::NotFound => {}
            Err(_) => self.work.retry(&path, context.now_ns),
        }
    }

    fn remaining(&self) -> Remaining {
        self.work.remaining()
    }

    fn report(&self) -> ControllerReport {
        ControllerReport::of(&[
            ("budgets_counted", self.synced),
            ("statuses_written", self.written),
            ("retried", self.work.retried),
        ])
    }
}

#[cfg(test)]
mod tests;
