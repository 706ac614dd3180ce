//! Gang: the pods of a group are bound together or not at all.
//!
//! A pod joins a group by two labels, `example.com/gang: NAME` and `example.com/gang-size: N`; a
//! group lives in a namespace. Each member that got a node waits at Permit until N of them have
//! one. Whoever leaves, by a timeout or for any other reason, takes the waiting ones with it, so
//! that half a group never holds on to nodes.
//!
//! ```text
//! Reserve: joins ──▶ Permit: all there? ──yes──▶ allow the waiting ones, approve ──▶ PostBind: bound
//!                              └──no──▶ wait ──timeout──▶ Unreserve: leaves, rejects the waiting ones
//! ```
//!
//! Argument, optional: `args: {timeoutSeconds: 60}`.
//!
//! Two groups that each got half of the cluster wait for each other until the timeout of one is
//! over. Give groups different priorities where that happens often.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use schedlab_core::class::PodClass;
use schedlab_core::framework::args::{ArgValue, PluginArgs};
use schedlab_core::framework::plugin::Plugin;
use schedlab_core::framework::points::{
    ActionType, ClusterEvent, EnqueueExtensions, EventResource, Handle, ObjectChange, Permit, PermitPlugin,
    PodRef, PostBindPlugin, QueueingHint, RegisteredEvent, ReservePlugin, Status,
};
use schedlab_core::framework::registry::Factored;
use schedlab_core::ids::{NodeId, PodUid};
use schedlab_core::interner::Vocabulary;
use schedlab_core::known_gaps::KnownGaps;
use schedlab_core::world::World;

/// The plugin's name in configuration files.
pub const NAME: &str = "Gang";
/// The label that names a pod's group.
pub const GANG_LABEL: &str = "example.com/gang";
/// The label that says how many members the group needs.
pub const SIZE_LABEL: &str = "example.com/gang-size";

const DEFAULT_TIMEOUT_S: i64 = 60;

/// Namespace and name.
type GroupKey = (String, String);

/// Who of a group is where.
#[derive(Debug, Default)]
struct Group {
    /// Members with a node, not bound yet.
    reserved: BTreeSet<PodUid>,
    /// Members that were bound.
    bound: BTreeSet<PodUid>,
}

/// Holds pods back until their group is complete.
#[derive(Debug)]
pub struct Gang {
    timeout_ns: u64,
    groups: Mutex<BTreeMap<GroupKey, Group>>,
}

/// Makes the plugin from its arguments.
pub fn factory(args: &PluginArgs, _: &mut Vocabulary) -> Factored {
    let seconds = match args.field("timeoutSeconds") {
        None => DEFAULT_TIMEOUT_S,
        Some(ArgValue::Integer(seconds)) if 0 < *seconds => *seconds,
        Some(_) => return Err("`timeoutSeconds` is no positive integer; write such as 60".to_owned()),
    };
    Ok(Arc::new(Gang::new(seconds.unsigned_abs().saturating_mul(1_000_000_000))))
}

/// What a pod's labels say of its group.
fn membership(class: &PodClass) -> Option<(GroupKey, &str)> {
    let labels = &class.input.labels;
    let name = labels.get(GANG_LABEL)?;
    let size = labels.get(SIZE_LABEL).map_or("", String::as_str);
    Some(((class.input.namespace.clone(), name.clone()), size))
}

impl Gang {
    /// A plugin that lets members wait so long for each other.
    #[must_use]
    pub fn new(timeout_ns: u64) -> Gang {
        Gang { timeout_ns, groups: Mutex::default() }
    }

    fn groups(&self) -> MutexGuard<'_, BTreeMap<GroupKey, Group>> {
        // A panic elsewhere left the books as they were after some call: they are still good.
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The pods of a group that wait at Permit for this plugin.
fn waiting_members(handle: &Handle<'_>, key: &GroupKey) -> Vec<PodUid> {
    let is_member = |class: &PodClass| membership(class).is_some_and(|(other, _)| other == *key);
    handle
        .waiting
        .iter()
        .filter(|pod| pod.pending.iter().any(|pending| pending.plugin == NAME))
        .filter(|pod| is_member(handle.world.class(pod.class_id)))
        .map(|pod| pod.uid)
        .collect()
}

impl Plugin for Gang {
    fn name(&self) -> &'static str {
        NAME
    }

    fn as_reserve(&self) -> Option<&dyn ReservePlugin> {
        Some(self)
    }

    fn as_permit(&self) -> Option<&dyn PermitPlugin> {
        Some(self)
    }

    fn as_post_bind(&self) -> Option<&dyn PostBindPlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl ReservePlugin for Gang {
    fn reserve(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) -> Result<(), Status> {
        if let Some((key, _)) = membership(pod.class) {
            self.groups().entry(key).or_default().reserved.insert(pod.uid);
        }
        Ok(())
    }

    fn unreserve(&self, handle: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) {
        let Some((key, _)) = membership(pod.class) else { return };
        let mut groups = self.groups();
        let Some(group) = groups.get_mut(&key) else { return };
        // Only one that leaves breaks the group up: the others leave because it did.
        if !group.reserved.remove(&pod.uid) {
            return;
        }
        if group.reserved.is_empty() && group.bound.is_empty() {
            groups.remove(&key);
        }
        for member in waiting_members(handle, &key).into_iter().filter(|&uid| uid != pod.uid) {
            handle.reject(member, NAME, format!("another pod of gang {} lost its node", key.1));
        }
    }
}

impl PermitPlugin for Gang {
    fn permit(&self, handle: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) -> Permit {
        let Some((key, size)) = membership(pod.class) else { return Permit::Approve };
        let Some(size) = size.parse::<usize>().ok().filter(|&size| 0 < size) else {
            return Permit::Deny(Status::error(&format!(
                "label {SIZE_LABEL} is {size:?}; write how many pods gang {} needs",
                key.1
            )));
        };
        let mut groups = self.groups();
        let group = groups.entry(key.clone()).or_default();
        group.reserved.insert(pod.uid);
        group.bound.retain(|&uid| handle.world.pods().find(uid).is_some());
        if group.reserved.len() + group.bound.len() < size {
            return Permit::Wait { timeout_ns: self.timeout_ns };
        }
        for member in waiting_members(handle, &key) {
            handle.allow(member, NAME);
        }
        Permit::Approve
    }
}

impl PostBindPlugin for Gang {
    fn post_bind(&self, _: &mut Handle<'_>, pod: PodRef<'_>, _: NodeId) {
        if let Some((key, _)) = membership(pod.class) {
            let mut groups = self.groups();
            let group = groups.entry(key).or_default();
            group.reserved.remove(&pod.uid);
            group.bound.insert(pod.uid);
        }
    }
}

impl EnqueueExtensions for Gang {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        vec![
            // A member that was missing comes.
            RegisteredEvent::hinted(EventResource::UnscheduledPod, ActionType::ADD),
            // Room for the members that did not fit.
            RegisteredEvent::always(EventResource::AssignedPod, ActionType::DELETE),
            RegisteredEvent::always(
                EventResource::Node,
                ActionType::ADD | ActionType::UPDATE_NODE_ALLOCATABLE,
            ),
        ]
    }

    fn queueing_hint(
        &self,
        _: &World,
        pod: PodRef<'_>,
        _: ClusterEvent,
        change: &ObjectChange<'_>,
    ) -> QueueingHint {
        let ObjectChange::Pod { new: Some(other), .. } = change else { return QueueingHint::Queue };
        let key = |class| membership(class).map(|(key, _)| key);
        if key(other) == key(pod.class) { QueueingHint::Queue } else { QueueingHint::Skip }
    }
}

#[cfg(test)]
mod tests;
