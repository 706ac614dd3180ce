//! All that the store keeps, behind one lock. The verbs are in `pods`, `nodes` and `others`.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use schedlab_core::ids::PodUid;
use schedlab_core::reclaim::Pressure;

use super::conditions::ConditionTable;
use super::followers::Followers;
use super::log::EventLog;
use super::names::PodNames;
use super::pod_events::PodEvents;
use super::quotas::Quotas;
use super::rows::PodRows;
use super::specs::SpecTable;
use crate::api::{EventKind, GenericObject, NamespaceId, NodeEntry, NodeNameId, WatchEvent, WatchedObject};
use crate::controllers::ControllerMutants;
use crate::interner::Interner;

/// Group and plural of a resource.
pub(super) type ResourceKey = (String, String);

/// Namespace and name of an object; the namespace is empty for kinds without one.
pub(super) type ObjectPath = (String, String);

/// Whether objects can be created in a namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum NamespaceState {
    /// There is no such namespace.
    #[default]
    Absent,
    /// There is one.
    Active,
    /// There is one, and it has been deleted.
    Terminating,
}

/// The store.
pub(super) struct State {
    pub(super) log: EventLog,
    pub(super) followers: Followers,
    pub(super) rows: PodRows,
    pub(super) names: PodNames,
    pub(super) specs: SpecTable,
    pub(super) conditions: ConditionTable,
    pub(super) namespaces: Interner,
    /// By `NamespaceId`; kept beside the objects because every pod asks. Ids past the end are
    /// absent.
    pub(super) namespace_states: Vec<NamespaceState>,
    /// Pods on a node, by `NamespaceId`; ids past the end have none.
    pub(super) scheduled_counts: Vec<u64>,
    pub(super) node_names: Interner,
    pub(super) nodes: BTreeMap<String, Arc<NodeEntry>>,
    pub(super) others: BTreeMap<ResourceKey, BTreeMap<ObjectPath, Arc<GenericObject>>>,
    pub(super) pod_events: PodEvents,
    pub(super) quotas: Quotas,
    /// `metadata.deletionTimestamp` of the few pods that wait for their finalizers.
    pub(super) pod_deletion_ns: FxHashMap<PodUid, u64>,
    /// The next number behind a `generateName`, by resource and prefix.
    pub(super) generated: BTreeMap<(String, String), u64>,
    /// UIDs of nodes and other objects.
    pub(super) next_uid: u64,
    /// Threads that sleep until something is written.
    pub(super) waiter_count: usize,
    /// How often readers were woken without a write.
    pub(super) nudges: u64,
    /// The gate `NodeAffinityRequiredDuringExecution` is on: the field it guards is kept.
    pub(super) keeps_execution_affinity: bool,
    /// The gate `ClearingNominatedNodeNameAfterBinding` is on: bound pods are nominated to no node.
    pub(super) clears_nomination_of_bound: bool,
    /// The defect that admission is given; none, without the feature `mutants`.
    pub(super) mutants: ControllerMutants,
    /// When to look for names and bodies that nothing has any more.
    pub(super) pressure: Pressure,
    /// How many there ever were at the last look.
    pub(super) looked_at: u64,
}

impl State {
    pub(super) fn new() -> Self {
        Self {
            log: EventLog::new(),
            followers: Followers::default(),
            rows: PodRows::new(),
            names: PodNames::default(),
            specs: SpecTable::default(),
            conditions: ConditionTable::new(),
            namespaces: Interner::default(),
            namespace_states: Vec::new(),
            scheduled_counts: Vec::new(),
            node_names: Interner::default(),
            nodes: BTreeMap::new(),
            others: BTreeMap::new(),
            pod_events: PodEvents::default(),
            quotas: Quotas::default(),
            pod_deletion_ns: FxHashMap::default(),
            generated: BTreeMap::new(),
            next_uid: 1,
            waiter_count: 0,
            nudges: 0,
            keeps_execution_affinity: false,
            clears_nomination_of_bound: true,
            mutants: ControllerMutants::default(),
            pressure: Pressure::default(),
            looked_at: 0,
        }
    }

    /// The same objects, and nobody who reads along.
    pub(super) fn copy(&self) -> Self {
        Self {
            log: self.log.without_events(),
            rows: self.rows.clone(),
            names: self.names.clone(),
            specs: self.specs.clone(),
            conditions: self.conditions.clone(),
            namespaces: self.namespaces.clone(),
            namespace_states: self.namespace_states.clone(),
            scheduled_counts: self.scheduled_counts.clone(),
            node_names: self.node_names.clone(),
            nodes: self.nodes.clone(),
            others: self.others.clone(),
            pod_events: self.pod_events.clone(),
            quotas: self.quotas.clone(),
            pod_deletion_ns: self.pod_deletion_ns.clone(),
            generated: self.generated.clone(),
            next_uid: self.next_uid,
            keeps_execution_affinity: self.keeps_execution_affinity,
            clears_nomination_of_bound: self.clears_nomination_of_bound,
            ..Self::new()
        }
    }

    pub(super) fn publish(&mut self, kind: EventKind, object: WatchedObject) {
        let event = WatchEvent { kind, object };
        if !self.followers.is_empty() {
            self.followers.take_in(&event);
        }
        self.log.push(event);
    }

    pub(super) fn namespace_id(&mut self, name: &str) -> NamespaceId {
        NamespaceId(self.namespaces.intern(name))
    }

    /// The counter of a namespace's pods that are on a node.
    #[inline]
    pub(super) fn scheduled_count_mut(&mut self, namespace: NamespaceId) -> &mut u64 {
        let at = namespace.0 as usize;
        if self.scheduled_counts.len() <= at {
            self.scheduled_counts.resize(at + 1, 0);
        }
        &mut self.scheduled_counts[at]
    }

    pub(super) fn node_name_id(&mut self, name: &str) -> NodeNameId {
        NodeNameId::from_index(self.node_names.intern(name))
    }

    pub(super) fn node_name(&self, node: NodeNameId) -> &Arc<str> {
        self.node_names.text(node.number())
    }

    /// A UID for a node or another object: a counter in the shape of a UUID.
    pub(super) fn take_uid(&mut self) -> String {
        State::uid_text(self.take_uid_number())
    }

    /// The number of a UID, to be written later.
    pub(super) fn take_uid_number(&mut self) -> u64 {
        self.next_uid += 1;
        self.next_uid - 1
    }

    pub(super) fn uid_text(number: u64) -> String {
        format!("00000000-0000-4000-9000-{number:012x}")
    }

    /// A name behind a prefix that `is_taken` does not know yet.
    pub(super) fn generate_name(
        &mut self,
        resource: &str,
        prefix: &str,
        is_taken: impl Fn(&State, &str) -> bool,
    ) -> String {
        let key = (resource.to_owned(), prefix.to_owned());
        let mut number = self.generated.get(&key).copied().unwrap_or(0);
        let name = loop {
            let name = format!("{prefix}{number}");
            number += 1;
            if !is_taken(self, &name) {
                break name;
            }
        };
        self.generated.insert(key, number);
        name
    }

    /// Heap bytes of pods and of what grows with them, counted from capacities.
    pub(super) fn pod_memory_bytes(&self) -> usize {
        self.rows.memory_bytes()
            + self.names.memory_bytes()
            + self.specs.memory_bytes()
            + self.conditions.memory_bytes()
            + self.namespaces.memory_bytes()
            + self.node_names.memory_bytes()
            + self.log.memory_bytes()
            + self.pod_events.memory_bytes()
            + self.followers.memory_bytes()
    }
}
