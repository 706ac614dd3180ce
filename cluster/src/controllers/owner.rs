//! What all controllers that own pods do alike: they compare the pods of an object with what it asks for,
//! make and delete pods, and write its status. What it asks for is the part of each ([`Ownership`]).
//!
//! ```text
//!   object, its pods, nodes ──▶ Ownership::plan ──▶ pods to make ─▶ POST pods
//!                                              ├──▶ pods to delete ─▶ DELETE pods
//!                                              └──▶ status, if it differs ─▶ PUT status
//! ```
//!
//! An object that is gone leaves no pods behind: upstream's garbage collector deletes them, here their
//! controller does.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use rustc_hash::FxHashMap;
use schedlab_core::ids::PodUid;
use serde_json::Value;

use super::owned::{OwnedPod, OwnedPods};
use super::pod_template::{namespace, pointer, uid, with_status};
use super::work::Work;
use super::{
    CallToken, Controller, ControllerAnswer, ControllerCall, ControllerContext, ControllerReport,
    ControllerRequest, Remaining,
};
use crate::api::{
    ApiError, EventKind, GenericObject, NodeEntry, Object, PodTemplateRef, StatusReason, WatchEvent,
    WatchedObject,
};

/// The pods of an object, by their UID.
pub(super) type Pods<'a> = &'a [(PodUid, &'a OwnedPod)];

/// Upstream: replica_set.go and daemon_controller.go `BurstReplicas`: so many pods in one look.
pub(super) const BURST_REPLICAS: i64 = 500;

/// What a kind of object asks of its pods.
pub(super) trait Ownership: fmt::Debug + Send {
    /// `kind`.
    const KIND: &'static str;

    /// What is to be done about the pods of an object.
    fn plan(&mut self, object: &GenericObject, pods: Pods<'_>, context: ControllerContext<'_>) -> Plan;

    /// A pod of a variant.
    fn pod(&self, object: &GenericObject, variant: &str) -> Result<Pod, ApiError>;

    /// A node is there, has changed, or is gone. Whether all objects are to be looked at again.
    fn on_node(&mut self, _: EventKind, _: &Arc<NodeEntry>) -> bool {
        false
    }

    /// A pod has changed, or is about to be forgotten.
    fn on_pod(&mut self, _owner: &Arc<str>, _pod: PodUid, _row: &crate::api::StoredPodRow) {}
}

/// What is to be done about the pods of an object.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Variants, and how many pods of each.
    pub(super) create: Vec<(Arc<str>, u32)>,
    /// These go.
    pub(super) delete: Vec<PodUid>,
    /// Fields of the status that it should have; they are written if one differs.
    pub(super) status: Vec<(&'static str, Value)>,
}

/// What a call was about.
#[derive(Clone, Debug)]
enum About {
    Creation(Arc<str>),
    Deletion(PodUid),
    Status,
}

#[derive(Debug, Default)]
struct Counts {
    created: u64,
    deleted: u64,
    refused: u64,
    statuses_written: u64,
}

/// A template, and what of the object it was made from.
#[derive(Debug)]
struct KnownTemplate {
    written: Value,
    template: PodTemplateRef,
}

/// Templates that are remembered: those of a daemon set are as many as nodes.
const TEMPLATES_MAX: usize = 65_536;

/// A controller of objects that own pods, which are known by their UID.
#[derive(Debug)]
pub(super) struct Owners<O> {
    ownership: O,
    objects: BTreeMap<Arc<str>, Arc<GenericObject>>,
    templates: FxHashMap<(Arc<str>, Arc<str>), KnownTemplate>,
    pods: OwnedPods,
    work: Work<Arc<str>, About>,
    counts: Counts,
}

impl<O: Ownership> Owners<O> {
    pub(super) fn new(ownership: O) -> Owners<O> {
        Owners {
            ownership,
            objects: BTreeMap::new(),
            templates: FxHashMap::default(),
            pods: OwnedPods::new(O::KIND),
            work: Work::default(),
            counts: Counts::default(),
        }
    }

    fn on_object(&mut self, kind: EventKind, object: &Arc<GenericObject>) {
        let uid: Arc<str> = Arc::from(uid(object));
        if kind == EventKind::Deleted {
            self.objects.remove(&uid);
            self.templates.retain(|(of, _), _| *of != uid);
        } else if self.objects.get(&uid).is_none_or(|known| known.resource_version < object.resource_version)
        {
            self.objects.insert(Arc::clone(&uid), Arc::clone(object));
        }
        self.work.mark(&uid);
    }

    fn template(
        &mut self,
        uid: &Arc<str>,
        (object, variant): (&GenericObject, &Arc<str>),
        context: ControllerContext<'_>,
    ) -> Result<PodTemplateRef, ApiError> {
        let written = pointer(object, "/spec/template").cloned().unwrap_or_default();
        let key = (Arc::clone(uid), Arc::clone(variant));
        if let Some(known) = self.templates.get(&key)
            && known.written == written
        {
            return Ok(Arc::clone(&known.template));
        }
        let pod = self.ownership.pod(object, variant)?;
        let template = context.tables.pod_template(pod, namespace(object))?;
        if TEMPLATES_MAX <= self.templates.len() {
            self.templates.clear();
        }
        self.templates.insert(key, KnownTemplate { written, template: Arc::clone(&template) });
        Ok(template)
    }

    fn sync(&mut self, uid: &Arc<str>, context: ControllerContext<'_>, into: &mut Vec<ControllerCall>) {
        let object = self.objects.get(uid).cloned();
        let object = object.filter(|object| object.metadata.deletion_timestamp.is_none());
        let plan = {
            let pods: Vec<(PodUid, &OwnedPod)> = self.pods.of(uid).collect();
            match &object {
                Some(object) => self.ownership.plan(object, &pods, context),
                None => {
                    let left = pods.iter().filter(|(_, pod)| !pod.is_deleted);
                    Plan { delete: left.map(|(uid, _)| *uid).collect(), ..Plan::default() }
                }
            }
        };
        for pod in plan.delete {
            self.pods.set_deleted(pod, true);
            let token = self.work.call(uid, About::Deletion(pod));
            into.push(ControllerCall { token, request: ControllerRequest::DeletePod(pod) });
        }
        let Some(object) = object else { return };
        for (variant, count) in plan.create {
            self.create(uid, &object, (variant, count), context, into);
        }
        self.write_status(uid, &object, plan.status, into);
    }

    fn create(
        &mut self,
        uid: &Arc<str>,
        object: &GenericObject,
        (variant, count): (Arc<str>, u32),
        context: ControllerContext<'_>,
        into: &mut Vec<ControllerCall>,
    ) {
        match self.template(uid, (object, &variant), context) {
            Ok(template) => {
                self.pods.creation_begins();
                let token = self.work.call(uid, About::Creation(variant));
                into.push(ControllerCall {
                    token,
                    request: ControllerRequest::CreatePods { template, count },
                });
            }
            Err(_) => {
                self.counts.refused += 1;
                self.work.retry(uid, context.now_ns);
            }
        }
    }

    fn write_status(
        &mut self,
        uid: &Arc<str>,
        object: &GenericObject,
        wanted: Vec<(&'static str, Value)>,
        into: &mut Vec<ControllerCall>,
    ) {
        let is = |field: &str| pointer(object, "/status")?.get(field);
        // An absent number is a 0, as the API leaves it out.
        let is_same = |field: &str, value: &Value| {
            is(field).map_or_else(|| value == &Value::from(0) || value.is_null(), |known| known == value)
        };
        if wanted.iter().all(|(field, value)| is_same(field, value)) {
            return;
        }
        let mut status = pointer(object, "/status").cloned().unwrap_or_default();
        if !status.is_object() {
            status = Value::Object(serde_json::Map::new());
        }
        for (field, value) in wanted {
            match status.as_object_mut() {
                Some(fields) if value.is_null() => drop(fields.remove(field)),
                _ => status[field] = value,
            }
        }
        let request = ControllerRequest::UpdateStatus(Object::Other(Box::new(with_status(object, status))));
        into.push(ControllerCall { token: self.work.call(uid, About::Status), request });
    }

    fn on_taken(&mut self, uid: &Arc<str>, about: &About, answer: &ControllerAnswer) {
        match (about, answer) {
            (About::Creation(variant), ControllerAnswer::Pods(made)) => {
                self.counts.created += u64::from(made.count);
                self.pods.creation_ends(uid, variant, Some(*made));
            }
            // A fault that was no error: nobody knows which pods were made.
            (About::Creation(variant), _) => self.pods.creation_ends(uid, variant, None),
            (About::Deletion(_), _) => self.counts.deleted += 1,
            (About::Status, ControllerAnswer::Object(object)) => {
                self.counts.statuses_written += 1;
                if let (Some(known), Object::Other(object)) = (self.objects.get_mut(uid), &**object)
                    && known.resource_version < object.resource_version
                {
                    *known = Arc::new((**object).clone());
                }
            }
            (About::Status, _) => {}
        }
    }

    fn on_refused(&mut self, uid: &Arc<str>, about: &About, error: &ApiError, now_ns: u64) {
        let is_gone = error.reason == StatusReason::NotFound;
        match about {
            About::Creation(variant) => self.pods.creation_ends(uid, variant, None),
            // The watch will say that it is gone.
            About::Deletion(_) if is_gone => return,
            About::Deletion(pod) => self.pods.set_deleted(*pod, false),
            About::Status if is_gone => return,
            About::Status => {}
        }
        self.counts.refused += 1;
        self.work.retry(uid, now_ns);
    }
}

impl<O: Ownership> Controller for Owners<O> {
    fn on_event(&mut self, event: &WatchEvent, context: ControllerContext<'_>) {
        match &event.object {
            WatchedObject::Pod(row) => {
                if let Some(owner) = self.pods.on_pod(event.kind, row, context.tables) {
                    self.ownership.on_pod(&owner, row.uid, row);
                    self.work.mark(&owner);
                }
            }
            WatchedObject::Other(object) if object.kind == O::KIND => self.on_object(event.kind, object),
            WatchedObject::Node(entry) => {
                if self.ownership.on_node(event.kind, entry) {
                    self.objects.keys().for_each(|uid| self.work.mark(uid));
                }
            }
            WatchedObject::PodEvent(_) | WatchedObject::Other(_) => {}
        }
    }

    fn advance(&mut self, context: ControllerContext<'_>) {
        self.work.advance(context.now_ns);
    }

    fn next_wake_ns(&self) -> Option<u64> {
        self.work.next_wake_ns()
    }

    fn take_calls(&mut self, context: ControllerContext<'_>, into: &mut Vec<ControllerCall>) {
        for uid in self.work.take() {
            self.sync(&uid, context, into);
        }
    }

    fn on_answer(
        &mut self,
        token: CallToken,
        answer: &Result<ControllerAnswer, ApiError>,
        context: ControllerContext<'_>,
    ) {
        let Some((uid, about)) = self.work.answered(token) else { return };
        match answer {
            Ok(answer) => {
                self.work.succeeded(&uid);
                self.on_taken(&uid, &about, answer);
                self.work.mark(&uid);
            }
            Err(error) => self.on_refused(&uid, &about, error, context.now_ns),
        }
    }

    fn remaining(&self) -> Remaining {
        self.work.remaining()
    }

    fn report(&self) -> ControllerReport {
        ControllerReport::of(&[
            ("pods_created", self.counts.created),
            ("pods_deleted", self.counts.deleted),
            ("calls_refused", self.counts.refused),
            ("statuses_written", self.counts.statuses_written),
            ("retried", self.work.retried),
        ])
    }
}

/// How many of some pods there are.
pub(super) fn count<'a>(pods: Pods<'a>, is_wanted: impl Fn(&OwnedPod) -> bool) -> i64 {
    i64::try_from(pods.iter().filter(|(_, pod)| is_wanted(pod)).count()).unwrap_or(i64::MAX)
}

/// So many more pods as one look makes, for a call.
pub(super) fn burst(missing: i64) -> u32 {
    u32::try_from(missing.clamp(0, BURST_REPLICAS)).unwrap_or(0)
}

/// The one variant of owners whose pods are alike.
pub(super) fn alike() -> Arc<str> {
    Arc::from("")
}
