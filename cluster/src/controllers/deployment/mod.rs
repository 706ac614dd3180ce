//! Keeps a replica set for the template of each deployment, and moves pods from those of older templates to it.
//!
//! ```text
//!   Deployment ──hash of its template──▶ ReplicaSet web-5d9f… ──replicaset-controller──▶ pods
//!                └──older templates────▶ ReplicaSets that shrink, kept for a rollback
//! ```
//!
//! Upstream: pkg/controller/deployment/deployment_controller.go `syncDeployment`, sync.go.
//! Differs: a deployment that is paused is left as it is, its size included
//! (`paused_deployment_is_left_as_it_is`). Not built: while a rollout is under way a new
//! size goes to the new set only; `minReadySeconds` and `progressDeadlineSeconds` count for nothing.

mod rollout;

use std::collections::BTreeMap;
use std::sync::Arc;

use schedlab_core::input::Labels;
use serde_json::{Value, json};

use super::owned::{controller_of, reference_to};
use super::pod_template::{name, pointer, uid, whole, with_status};
use super::work::Work;
use super::{
    CallToken, Controller, ControllerAnswer, ControllerCall, ControllerConfigError, ControllerContext,
    ControllerDescriptor, ControllerReport, ControllerRequest, ControllerSettings, PodsWatched, Remaining,
    Sharding, WatchScope,
};
use crate::api::{
    ApiError, EventKind, GenericObject, Object, ObjectKey, StatusReason, WatchEvent, WatchedObject,
};
use rollout::{SetSize, Sizes, Wanted, step};

/// Its line in the list of controllers.
pub const DESCRIPTOR: ControllerDescriptor = ControllerDescriptor {
    name: "deployment-controller",
    about: "makes and rolls over the ReplicaSets of Deployments",
    started_by_feature_gate: None,
    scope: WatchScope {
        nodes: false,
        pods: PodsWatched::None,
        kinds: &[("apps/v1", "Deployment"), ("apps/v1", "ReplicaSet")],
    },
    sharding: Sharding::None,
    constructor: new,
};

/// Upstream: pkg/apis/apps/v1/defaults.go.
const REVISION_HISTORY_LIMIT: i64 = 10;
/// The label by which the pods of one template are told from those of another.
const TEMPLATE_HASH: &str = "pod-template-hash";

fn new(settings: &ControllerSettings) -> Result<Box<dyn Controller>, ControllerConfigError> {
    settings.expect_no_config()?;
    Ok(Box::new(Deployments::default()))
}

/// What a call was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    Creation,
    Scaling,
    Deletion,
    Status,
}

#[derive(Debug, Default)]
struct Counts {
    created: u64,
    scaled: u64,
    deleted: u64,
    refused: u64,
}

type Sets = BTreeMap<String, Arc<GenericObject>>;

/// The controller; deployments are known by their UID, replica sets by their name.
#[derive(Debug, Default)]
struct Deployments {
    objects: BTreeMap<Arc<str>, Arc<GenericObject>>,
    sets: BTreeMap<Arc<str>, Sets>,
    work: Work<Arc<str>, About>,
    counts: Counts,
}

impl Deployments {
    fn on_deployment(&mut self, kind: EventKind, object: &Arc<GenericObject>) {
        let uid: Arc<str> = Arc::from(uid(object));
        if kind == EventKind::Deleted {
            self.objects.remove(&uid);
        } else {
            keep_newer(self.objects.entry(Arc::clone(&uid)), object);
        }
        self.work.mark(&uid);
    }

    fn on_set(&mut self, kind: EventKind, object: &Arc<GenericObject>) {
        let Some(owner) = controller_of(&object.metadata).filter(|owner| owner.kind == "Deployment") else {
            return;
        };
        let owner: Arc<str> = Arc::from(owner.uid.as_str());
        let sets = self.sets.entry(Arc::clone(&owner)).or_default();
        if kind == EventKind::Deleted {
            sets.remove(name(object));
        } else {
            keep_newer(sets.entry(name(object).to_owned()), object);
        }
        self.work.mark(&owner);
    }

    fn sync(&mut self, owner: &Arc<str>, into: &mut Vec<ControllerCall>) {
        let object = self.objects.get(owner).cloned();
        let object = object.filter(|object| object.metadata.deletion_timestamp.is_none());
        let sets: Vec<Arc<GenericObject>> =
            self.sets.get(owner).into_iter().flat_map(Sets::values).cloned().collect();
        let Some(object) = object else {
            // Upstream: the garbage collector.
            sets.iter().for_each(|set| self.delete(owner, set, into));
            return;
        };
        if pointer(&object, "/spec/paused") == Some(&json!(true)) {
            return;
        }
        let (new, old) = apart(&object, sets);
        let sizes = step(Wanted::of(&object), new.as_deref().map(size_of), &sizes_of(&old));
        self.scale(owner, (&object, &new, &old), &sizes, into);
        self.clean_up(owner, &object, &old, into);
        self.write_status(owner, (&object, &new, &old), into);
    }

    fn scale(
        &mut self,
        owner: &Arc<str>,
        (object, new, old): (&GenericObject, &Option<Arc<GenericObject>>, &[Arc<GenericObject>]),
        sizes: &Sizes,
        into: &mut Vec<ControllerCall>,
    ) {
        let mut call = |about, request| {
            into.push(ControllerCall { token: self.work.call(owner, about), request });
        };
        match (new, sizes.new) {
            (None, Some(replicas)) => {
                let set = Object::Other(Box::new(set_of(object, replicas)));
                call(About::Creation, ControllerRequest::Create(set));
            }
            (Some(set), Some(replicas)) if whole(set, "/spec/replicas") != Some(replicas) => {
                call(About::Scaling, ControllerRequest::Update(of_size(set, replicas)));
            }
            _ => {}
        }
        for (set, &replicas) in old.iter().zip(&sizes.old) {
            if whole(set, "/spec/replicas") != Some(replicas) {
                call(About::Scaling, ControllerRequest::Update(of_size(set, replicas)));
            }
        }
    }

    /// Upstream: sync.go `cleanupDeployment`.
    fn clean_up(
        &mut self,
        owner: &Arc<str>,
        object: &GenericObject,
        old: &[Arc<GenericObject>],
        into: &mut Vec<ControllerCall>,
    ) {
        let limit = whole(object, "/spec/revisionHistoryLimit").unwrap_or(REVISION_HISTORY_LIMIT);
        let surplus = old.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
        let is_empty = |set: &&Arc<GenericObject>| size_of(set) == SetSize::default();
        for set in old.iter().take(surplus).filter(is_empty) {
            self.delete(owner, set, into);
        }
    }

    fn delete(&mut self, owner: &Arc<str>, set: &GenericObject, into: &mut Vec<ControllerCall>) {
        let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
        let key = ObjectKey::namespaced("apps/v1", "ReplicaSet", namespace, name(set));
        let request = ControllerRequest::Delete { key, uid: set.metadata.uid.clone() };
        into.push(ControllerCall { token: self.work.call(owner, About::Deletion), request });
    }

    /// Upstream: sync.go `calculateStatus`.
    fn write_status(
        &mut self,
        owner: &Arc<str>,
        (object, new, old): (&GenericObject, &Option<Arc<GenericObject>>, &[Arc<GenericObject>]),
        into: &mut Vec<ControllerCall>,
    ) {
        let all = || new.iter().chain(old).map(|set| size_of(set));
        let pods: i64 = all().map(|set| set.pods).sum();
        let available: i64 = all().map(|set| set.available).sum();
        let wanted: i64 = all().map(|set| set.replicas).sum();
        let updated = new.as_deref().map_or(0, |set| size_of(set).pods);
        let fields = [
            ("replicas", pods),
            ("updatedReplicas", updated),
            ("readyReplicas", available),
            ("availableReplicas", available),
            ("unavailableReplicas", (wanted - available).max(0)),
        ];
        let is = |field: &str| whole(object, &format!("/status/{field}")).unwrap_or(0);
        if fields.iter().all(|(field, value)| is(field) == *value) {
            return;
        }
        let mut status = pointer(object, "/status").filter(|it| it.is_object()).cloned().unwrap_or(json!({}));
        for (field, value) in fields {
            status[field] = json!(value);
        }
        let request = ControllerRequest::UpdateStatus(Object::Other(Box::new(with_status(object, status))));
        into.push(ControllerCall { token: self.work.call(owner, About::Status), request });
    }

    fn on_taken(&mut self, owner: &Arc<str>, about: About, answer: &ControllerAnswer) {
        let count = match about {
            About::Creation => &mut self.counts.created,
            About::Scaling => &mut self.counts.scaled,
            About::Deletion => &mut self.counts.deleted,
            About::Status => return self.keep_status(owner, answer),
        };
        *count += 1;
        // What was written is known before the watch tells of it.
        if let ControllerAnswer::Object(object) = answer
            && let Object::Other(set) = &**object
        {
            let set = Arc::new((**set).clone());
            let sets = self.sets.entry(Arc::clone(owner)).or_default();
            keep_newer(sets.entry(name(&set).to_owned()), &set);
        }
    }

    fn keep_status(&mut self, owner: &Arc<str>, answer: &ControllerAnswer) {
        if let ControllerAnswer::Object(object) = answer
            && let Object::Other(deployment) = &**object
            && self.objects.contains_key(owner)
        {
            keep_newer(self.objects.entry(Arc::clone(owner)), &Arc::new((**deployment).clone()));
        }
    }
}

fn keep_newer<K: Ord>(
    entry: std::collections::btree_map::Entry<'_, K, Arc<GenericObject>>,
    object: &Arc<GenericObject>,
) {
    let known = entry.or_insert_with(|| Arc::clone(object));
    if known.resource_version < object.resource_version {
        *known = Arc::clone(object);
    }
}

/// The set of the deployment's template, and the others, oldest first.
fn apart(
    object: &GenericObject,
    sets: Vec<Arc<GenericObject>>,
) -> (Option<Arc<GenericObject>>, Vec<Arc<GenericObject>>) {
    let current = format!("{}-{}", name(object), template_hash(object));
    let (mut new, mut old): (Vec<_>, Vec<_>) = sets.into_iter().partition(|set| name(set) == current);
    old.sort_by_key(|set| (set.metadata.creation_timestamp.clone(), name(set).to_owned()));
    (new.pop(), old)
}

fn size_of(set: &GenericObject) -> SetSize {
    let number = |path| whole(set, path).unwrap_or(0);
    SetSize {
        replicas: whole(set, "/spec/replicas").unwrap_or(1),
        pods: number("/status/replicas"),
        available: number("/status/availableReplicas"),
    }
}

fn sizes_of(sets: &[Arc<GenericObject>]) -> Vec<SetSize> {
    sets.iter().map(|set| size_of(set)).collect()
}

fn of_size(set: &GenericObject, replicas: i64) -> Object {
    let mut changed = set.clone();
    if let Some(spec) = changed.body.get_mut("spec") {
        spec["replicas"] = json!(replicas);
    }
    Object::Other(Box::new(changed))
}

/// FNV-1a of the template's JSON, whose fields are in the order of their names.
/// Upstream hashes what Go prints of the template; the name only has to be the same for the same one.
fn template_hash(object: &GenericObject) -> String {
    let text = pointer(object, "/spec/template").map(Value::to_string).unwrap_or_default();
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    format!("{:010x}", hash & 0xff_ffff_ffff)
}

/// The replica set of a deployment's template. Upstream: sync.go `getNewReplicaSet`.
fn set_of(object: &GenericObject, replicas: i64) -> GenericObject {
    let hash = template_hash(object);
    let mut template = pointer(object, "/spec/template").cloned().unwrap_or_else(|| json!({}));
    template["metadata"]["labels"][TEMPLATE_HASH] = json!(hash);
    let mut selector = pointer(object, "/spec/selector").cloned().unwrap_or_else(|| json!({}));
    selector["matchLabels"][TEMPLATE_HASH] = json!(hash);
    let labels = template["metadata"]["labels"].as_object().into_iter().flatten();
    let labels: Labels =
        labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect();
    let mut set = GenericObject {
        api_version: "apps/v1".to_owned(),
        kind: "ReplicaSet".to_owned(),
        ..GenericObject::default()
    };
    set.metadata.name = Some(format!("{}-{hash}", name(object)));
    set.metadata.namespace.clone_from(&object.metadata.namespace);
    set.metadata.labels = Some(labels);
    set.metadata.owner_references = Some(vec![reference_to(object)]);
    let spec = json!({ "replicas": replicas, "selector": selector, "template": template });
    set.body.insert("spec".to_owned(), spec);
    set
}

impl Controller for Deployments {
    fn on_event(&mut self, event: &WatchEvent, _: ControllerContext<'_>) {
        match &event.object {
            WatchedObject::Other(object) if object.kind == "Deployment" => {
                self.on_deployment(event.kind, object);
            }
            WatchedObject::Other(object) if object.kind == "ReplicaSet" => self.on_set(event.kind, object),
            _ => {}
        }
    }

    fn advance(&mut self, context: ControllerContext<'_>) {
        self.work.advance(context.now_ns);
    }

    fn next_wake_ns(&self) -> Option<u64> {
        self.work.next_wake_ns()
    }

    fn take_calls(&mut self, _: ControllerContext<'_>, into: &mut Vec<ControllerCall>) {
        for owner in self.work.take() {
            self.sync(&owner, into);
        }
    }

    fn on_answer(
        &mut self,
        token: CallToken,
        answer: &Result<ControllerAnswer, ApiError>,
        context: ControllerContext<'_>,
    ) {
        let Some((owner, about)) = self.work.answered(token) else { return };
        match answer {
            Ok(answer) => {
                self.work.succeeded(&owner);
                self.on_taken(&owner, about, answer);
                self.work.mark(&owner);
            }
            // The watch will say that it is gone.
            Err(error) if error.reason == StatusReason::NotFound => {}
            Err(_) => {
                self.counts.refused += 1;
                self.work.retry(&owner, context.now_ns);
            }
        }
    }

    fn remaining(&self) -> Remaining {
        self.work.remaining()
    }

    fn report(&self) -> ControllerReport {
        ControllerReport::of(&[
            ("replica_sets_created", self.counts.created),
            ("replica_sets_scaled", self.counts.scaled),
            ("replica_sets_deleted", self.counts.deleted),
            ("calls_refused", self.counts.refused),
            ("retried", self.work.retried),
        ])
    }
}

#[cfg(test)]
mod tests;
