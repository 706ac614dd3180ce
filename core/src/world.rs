//! The world as the engine knows it: vocabulary, classes, nodes and pods, kept consistent with
//! each other. Plugins read it. What a scheduler knows is changed by the scheduler alone: objects enter
//! through `Scheduler::on_event`.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::budgets::Budgets;
use crate::class::{ClassTable, PodClass};
use crate::dra::{DeviceReservation, DraNews, DraStore};
use crate::ids::{ClassId, NodeId, PodId, PodUid, Symbol};
use crate::input::dra::{DraInput, DraKind};
use crate::input::storage::{StorageInput, StorageKey, StorageKind};
use crate::input::{DisruptionBudgetInput, Labels, NodeInput, PodInput};
use crate::interner::Vocabulary;
use crate::mutants::Mutants;
use crate::nominator::{NominatedPod, Nominator};
use crate::owners::Owners;
use crate::pod_group_state::PodGroups;
use crate::pods::PodTable;
use crate::reclaim::Marks;
use crate::snapshot::order::NodeOrdering;
use crate::snapshot::{NodeSnapshot, Upsert};
use crate::storage::{Storage, StorageNews, VolumeDecision};
use crate::topology::counter::Counter;
use crate::topology::spread::Wanted;
use crate::topology::{Namespaces, Placed, PodCounting, Topology};

/// Everything a decision depends on.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Interned things.
    pub vocabulary: Vocabulary,
    classes: ClassTable,
    nodes: NodeSnapshot,
    pods: PodTable,
    pod_groups: PodGroups,
    namespaces: Namespaces,
    topology: Topology,
    nominator: Nominator,
    owners: Owners,
    budgets: Budgets,
    mutants: Mutants,
    /// A change that a defect holds back.
    #[cfg(feature = "mutants")]
    late_budget: Option<DisruptionBudgetInput>,
    storage: Storage,
    /// Taken for pods that are assumed.
    volumes_of_pods: FxHashMap<PodUid, VolumeDecision>,
    dra: DraStore,
    /// How many placed pods have which priority, lowest first.
    priorities: Vec<(i32, usize)>,
    thoughts: Thoughts,
}

/// What a cycle supposes: pods that are not there, or are gone; the last one is undone first.
#[derive(Clone, Debug, Default)]
struct Thoughts {
    pods: Vec<(usize, ClassId, i32)>,
    /// For each host port of each of them: it was in use before.
    ports: Vec<bool>,
}

/// The parts of a world that counters are made from, beside the counters themselves.
macro_rules! placed {
    ($world:ident) => {
        Placed {
            vocabulary: &$world.vocabulary,
            classes: &$world.classes,
            nodes: &$world.nodes,
            pods: &$world.pods,
            namespaces: &$world.namespaces,
        }
    };
}

mod checks;

impl World {
    /// A world without nodes and pods whose node list will have this order.
    #[must_use]
    pub fn with_node_ordering(ordering: NodeOrdering) -> World {
        World { nodes: NodeSnapshot::with_ordering(ordering), ..World::default() }
    }

    /// The same world, whose pods are counted in this way.
    #[must_use]
    pub fn counting(mut self, counting: PodCounting) -> World {
        self.topology = Topology::with_counting(counting);
        self.topology.reset(placed!(self));
        self
    }

    /// Counts of pods by topology domain.
    #[inline]
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Services and workloads that own pods.
    #[inline]
    #[must_use]
    pub fn owners(&self) -> &Owners {
        &self.owners
    }

    /// Services and workloads, to be changed.
    pub fn owners_mut(&mut self) -> &mut Owners {
        &mut self.owners
    }

    /// What a selector made from owners needs.
    pub(crate) fn owners_and_vocabulary(&mut self) -> (&Owners, &ClassTable, &mut Vocabulary) {
        (&self.owners, &self.classes, &mut self.vocabulary)
    }

    /// Disruption budgets.
    #[inline]
    #[must_use]
    pub fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    /// Adds a disruption budget or takes over its new state. `disrupted` are those of the pods it names
    /// that are known.
    pub fn upsert_budget(&mut self, input: &DisruptionBudgetInput, disrupted: &[PodUid]) {
        #[cfg(feature = "mutants")]
        if self.mutants.has(crate::mutants::Mutant::StaleBudgets) {
            if let Some(late) = self.late_budget.replace(input.clone()) {
                self.budgets.upsert(&late, &mut self.vocabulary, disrupted);
            }
            return;
        }
        self.budgets.upsert(input, &mut self.vocabulary, disrupted);
    }

    /// Takes a disruption budget out.
    pub fn remove_budget(&mut self, namespace: &str, name: &str) {
        let [namespace, name] = [namespace, name].map(|text| self.vocabulary.symbols.intern(text));
        self.budgets.remove(namespace, name);
    }

    /// Gives the world a defect.
    pub(crate) fn set_mutants(&mut self, mutants: Mutants) {
        self.mutants = mutants;
        self.nominator.set_mutants(mutants);
    }

    /// Pods nominated to nodes.
    #[inline]
    #[must_use]
    pub fn nominator(&self) -> &Nominator {
        &self.nominator
    }

    /// Nominates a pod to a node, which need not exist.
    pub fn add_nominated_pod(&mut self, pod: PodUid, class: ClassId, node: NodeId) {
        let priority = self.classes.get(class).priority;
        self.nominator.add_nominated_pod(node, NominatedPod { pod, class, priority });
    }

    /// Nominates a pod that another scheduler takes. It holds room against lower priorities only: two
    /// schedulers that preempt on the same node at the same time would wait for each other for ever.
    pub fn add_foreign_nominated_pod(&mut self, pod: PodUid, class: ClassId, node: NodeId) {
        let priority = self.classes.get(class).priority.saturating_sub(1);
        self.nominator.add_nominated_pod(node, NominatedPod { pod, class, priority });
    }

    /// Takes a pod's nomination back. Returns the node it was nominated to.
    pub fn delete_nominated_pod_if_exists(&mut self, pod: PodUid) -> Option<NodeId> {
        self.nominator.delete_nominated_pod_if_exists(pod)
    }

    /// The nodes.
    #[inline]
    #[must_use]
    pub fn nodes(&self) -> &NodeSnapshot {
        &self.nodes
    }

    /// The pods.
    #[inline]
    #[must_use]
    pub fn pods(&self) -> &PodTable {
        &self.pods
    }

    /// The pods, for state that no column depends on.
    #[inline]
    pub(crate) fn pods_mut(&mut self) -> &mut PodTable {
        &mut self.pods
    }

    /// Pod groups and their members.
    #[inline]
    #[must_use]
    pub fn pod_groups(&self) -> &PodGroups {
        &self.pod_groups
    }

    /// Pod groups, for what no column depends on.
    #[inline]
    pub(crate) fn pod_groups_mut(&mut self) -> &mut PodGroups {
        &mut self.pod_groups
    }

    /// Volumes, claims and what pods use of them.
    #[inline]
    #[must_use]
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// A compiled class.
    #[inline]
    #[must_use]
    pub fn class(&self, id: ClassId) -> &PodClass {
        self.classes.get(id)
    }

    /// Compiles a spec, once per distinct spec.
    pub fn compile(&mut self, input: &Arc<PodInput>) -> ClassId {
        let (id, is_new) = self.classes.compile_new(input, &mut self.vocabulary);
        if is_new {
            self.topology.add_class(id, placed!(self));
        }
        id
    }

    /// Adds a namespace or takes over its new labels. Whether anything is new.
    pub fn upsert_namespace(&mut self, name: &str, labels: &Labels) -> bool {
        let name = self.vocabulary.symbols.intern(name);
        let labels = self.vocabulary.label_set(labels);
        let is_new = self.namespaces.insert(name, labels) != Some(labels);
        if is_new {
            self.topology.reset(placed!(self));
        }
        is_new
    }

    /// Takes a namespace out. Whether it was there.
    pub fn remove_namespace(&mut self, name: &str) -> bool {
        let name = self.vocabulary.symbols.intern(name);
        let was_there = self.namespaces.remove(&name).is_some();
        if was_there {
            self.topology.reset(placed!(self));
        }
        was_there
    }

    /// Makes the counters that pod affinity of a pending class needs.
    pub(crate) fn prepare_affinity(&mut self, class: ClassId) {
        self.topology.prepare_affinity(class, placed!(self));
    }

    /// Makes the counters that topology spread of a pending class needs.
    pub(crate) fn prepare_spread(&mut self, class: ClassId, wanted: Wanted<'_>) {
        self.topology.prepare_spread(class, wanted, placed!(self));
    }

    /// Counts what a pending class reads, if counts are not kept.
    pub(crate) fn scan_pods(&mut self, class: ClassId) {
        self.topology.scan(class, placed!(self));
    }

    /// A class is used: the next sweep leaves it.
    #[inline]
    pub(crate) fn touch_class(&mut self, class: ClassId) {
        self.classes.touch(class);
    }

    /// The classes there are.
    pub(crate) fn live_classes(&self) -> impl Iterator<Item = &PodClass> {
        self.classes.slots().filter(|&id| self.classes.is_live(id)).map(|id| self.classes.get(id))
    }

    /// Marks what the world refers to by itself.
    pub(crate) fn mark(&mut self, marks: &mut Marks) {
        assert_eq!(self.supposed(), 0, "suppositions are left");
        self.pods.mark(marks);
        self.nominator.mark(marks);
        self.volumes_of_pods.values().for_each(|decision| decision.mark(marks));
        self.nodes.mark(marks);
        for (&name, &labels) in &self.namespaces {
            marks.symbol(name);
            marks.label_set(labels);
        }
        self.budgets.mark(marks);
        self.storage.mark(marks);
    }

    /// Forgets all that is not marked: see [`crate::reclaim`]. How much of what is left was only asked
    /// for lately.
    pub(crate) fn sweep(&mut self, mut marks: Marks) -> u64 {
        let young = self.classes.mark_contents(&mut marks);
        let nodes = self.nodes.sweep(&mut marks);
        self.pods.cut_nodes(nodes);
        self.storage.sweep(&marks, nodes);
        self.nominator.shrink();
        self.pod_groups.sweep();
        self.namespaces.shrink_to(2 * self.namespaces.len());
        self.vocabulary.sweep(&mut marks);
        self.budgets.forget_label_sets();
        self.classes.sweep(&marks, &mut self.vocabulary);
        self.topology.rebuild(placed!(self));
        young
    }

    /// How many things a sweep looks at, beside pods.
    pub(crate) fn thing_count(&self) -> u64 {
        self.vocabulary.len() + 16 * self.classes.len() as u64
    }

    /// How many distinct specs there are.
    #[must_use]
    pub fn class_count(&self) -> usize {
        self.classes.len()
    }

    /// Adds a node or takes over its new attributes.
    pub fn upsert_node(&mut self, node: &NodeInput) -> NodeId {
        let (id, upsert) = self.nodes.upsert(node, &mut self.vocabulary);
        self.pods.know_node(id);
        if upsert == Upsert::Added {
            let row = self.nodes.row_of(id).expect("an added node has a row");
            for pod in self.pods.on_node(id) {
                let class = self.classes.get(self.pods.get(pod).class);
                self.nodes.add_pod(row, class);
                self.storage.add_pod(id, class);
            }
        }
        id
    }

    /// Takes a node out of the list; pods on it stay known.
    pub fn remove_node(&mut self, id: NodeId) {
        if self.nodes.row_of(id).is_some() {
            for pod in self.pods.on_node(id) {
                self.storage.remove_pod(id, self.classes.get(self.pods.get(pod).class));
            }
        }
        self.nodes.remove(id, &self.vocabulary);
    }

    /// The id of a node name, known or not.
    pub fn node_id(&mut self, name: &str) -> NodeId {
        let symbol = self.vocabulary.symbols.intern(name);
        self.nodes.id_of(symbol)
    }

    /// The name of a node.
    #[must_use]
    pub fn node_name(&self, id: NodeId) -> &str {
        self.vocabulary.symbols.text(self.nodes.name_of(id))
    }

    /// A label of the node in a row.
    #[must_use]
    pub fn node_label(&self, row: usize, key: Symbol) -> Option<&str> {
        let labels = self.nodes.columns().label_set[row];
        self.vocabulary.label(labels, key).map(|value| self.vocabulary.symbols.text(value))
    }

    /// The first pods that a counter counts, in a domain or in all.
    pub(crate) fn pods_counted(&self, counter: &Counter, domain: Option<u32>, max: usize) -> Vec<PodUid> {
        self.topology.pods_counted(counter, domain, placed!(self), max)
    }

    /// Puts a pod on a node and counts it there.
    pub fn place(&mut self, pod: PodId, node: NodeId) {
        debug_assert_eq!(self.supposed(), 0, "pods are placed between two what-if questions");
        self.pods.attach(pod, node);
        self.pod_groups.on_placed(pod);
        self.count_priority(self.pods.get(pod).class, 1);
        if let Some(row) = self.nodes.row_of(node) {
            let id = self.pods.get(pod).class;
            let class = self.classes.get(id);
            self.nodes.add_pod(row, class);
            self.topology.on_placed(row, id, 1, &self.nodes);
            self.storage.add_pod(node, class);
        }
    }

    /// Takes a pod off its node.
    pub fn displace(&mut self, pod: PodId) {
        let row = *self.pods.get(pod);
        let node = row.node().expect("only a placed pod can be displaced");
        self.pods.detach(pod);
        self.pod_groups.on_displaced(pod);
        self.count_priority(row.class, -1);
        if let Some(at) = self.nodes.row_of(node) {
            let class = self.classes.get(row.class);
            self.nodes.remove_pod(at, class);
            self.topology.on_placed(at, row.class, -1, &self.nodes);
            self.storage.remove_pod(node, class);
        }
    }

    fn count_priority(&mut self, class: ClassId, change: isize) {
        let priority = self.classes.get(class).priority;
        let at = match self.priorities.binary_search_by_key(&priority, |&(priority, _)| priority) {
            Ok(at) => at,
            Err(at) => {
                self.priorities.insert(at, (priority, 0));
                at
            }
        };
        let count = &mut self.priorities[at].1;
        *count = count.checked_add_signed(change).expect("a pod is counted in before it is counted out");
        if *count == 0 {
            self.priorities.remove(at);
        }
    }

    /// The lowest priority of a placed pod.
    #[must_use]
    pub fn lowest_priority(&self) -> Option<i32> {
        self.priorities.first().map(|&(priority, _)| priority)
    }

    /// Lets plugins see one pod of a class more on a row (`sign` 1), or one less (-1), until
    /// [`World::undo_to`]. Nothing that is kept between cycles notices.
    pub(crate) fn suppose(&mut self, row: usize, class: ClassId, sign: i32) {
        debug_assert!(row < self.nodes.node_count(), "what is supposed is on a row that is there");
        debug_assert!(self.classes.is_live(class), "what is supposed has a class");
        let thoughts = &mut self.thoughts;
        self.nodes.suppose(row, self.classes.get(class), i64::from(sign), &mut thoughts.ports);
        self.topology.on_thought(row, class, sign);
        self.storage.suppose(self.nodes.columns().id[row], self.classes.get(class), sign);
        thoughts.pods.push((row, class, sign));
    }

    /// How many suppositions stand.
    pub(crate) fn supposed(&self) -> usize {
        self.thoughts.pods.len()
    }

    /// Undoes all suppositions but the first `count`.
    pub(crate) fn undo_to(&mut self, count: usize) {
        let thoughts = &mut self.thoughts;
        while thoughts.pods.len() > count {
            let (row, class, sign) = thoughts.pods.pop().expect("there is one");
            self.nodes.undo(row, self.classes.get(class), i64::from(sign), &mut thoughts.ports);
            self.topology.on_thought(row, class, -sign);
            self.storage.suppose(self.nodes.columns().id[row], self.classes.get(class), -sign);
        }
        debug_assert_eq!(thoughts.pods.len(), count, "no more is undone than was supposed");
    }

    /// Adds an object of storage or takes over its new state, and says what is new about it.
    pub fn upsert_storage(&mut self, object: &StorageInput) -> StorageNews {
        let World { storage, vocabulary, nodes, .. } = self;
        match object {
            StorageInput::PersistentVolume(it) => storage.upsert_volume(it, vocabulary),
            StorageInput::PersistentVolumeClaim(it) => {
                storage.upsert_claim(it, vocabulary);
                StorageNews::Anything
            }
            StorageInput::StorageClass(it) => storage.upsert_class(it, vocabulary),
            StorageInput::CsiNode(it) => {
                let node = nodes.id_of(vocabulary.symbols.intern(&it.name));
                storage.upsert_csi_node(node, it, vocabulary)
            }
            StorageInput::CsiDriver(it) => storage.upsert_driver(vocabulary.symbols.intern(&it.name), it),
            StorageInput::CsiStorageCapacity(it) => storage.upsert_capacity(it, vocabulary),
            StorageInput::VolumeAttachment(it) => {
                let node = nodes.id_of(vocabulary.symbols.intern(&it.node_name));
                storage.upsert_attachment(node, it, vocabulary);
                StorageNews::Anything
            }
        }
    }

    /// Forgets an object of storage. Pods that use it keep naming it.
    pub fn remove_storage(&mut self, key: &StorageKey) -> StorageNews {
        let World { storage, vocabulary, nodes, .. } = self;
        let name = vocabulary.symbols.intern(&key.name);
        match key.kind {
            StorageKind::PersistentVolume => storage.remove_volume(name, vocabulary),
            StorageKind::PersistentVolumeClaim => {
                storage.remove_claim(vocabulary.symbols.intern(&key.namespace), name, vocabulary);
            }
            StorageKind::StorageClass => storage.remove_class(name, vocabulary),
            StorageKind::CsiNode => storage.remove_csi_node(nodes.id_of(name)),
            StorageKind::CsiDriver => storage.remove_driver(name),
            StorageKind::CsiStorageCapacity => storage.remove_capacity(&key.namespace, &key.name),
            StorageKind::VolumeAttachment => {
                let attacher = storage.remove_attachment(name);
                return attacher.map_or(StorageNews::Anything, |attacher| StorageNews::Detached { attacher });
            }
        }
        StorageNews::Anything
    }

    /// Takes the volumes that a pod gets on a node, before the API knows.
    pub fn assume_volumes(&mut self, decision: &VolumeDecision, node: NodeId) {
        self.storage.assume(decision, self.nodes.name_of(node));
    }

    /// Gives volumes back that the pod does not get after all.
    pub fn revert_volumes(&mut self, decision: &VolumeDecision) {
        self.storage.revert(decision);
    }

    /// Takes the volumes that a pod gets on a row.
    pub(crate) fn reserve_volumes(&mut self, pod: PodUid, row: usize, decision: VolumeDecision) {
        let node = self.nodes.columns().id[row];
        self.assume_volumes(&decision, node);
        let before = self.volumes_of_pods.insert(pod, decision);
        debug_assert!(before.is_none(), "a pod's volumes are taken once");
    }

    /// Gives back what was taken for a pod that is not bound after all.
    pub(crate) fn unreserve_volumes(&mut self, pod: PodUid) {
        if let Some(decision) = self.volumes_of_pods.remove(&pod) {
            self.revert_volumes(&decision);
        }
    }

    /// The pod is bound: the API says from now on what its claims are.
    pub(crate) fn forget_volumes(&mut self, pod: PodUid) {
        self.volumes_of_pods.remove(&pod);
    }

    /// What was taken for a pod that is on its way to a node.
    #[inline]
    #[must_use]
    pub fn volumes_of(&self, pod: PodUid) -> Option<&VolumeDecision> {
        if self.volumes_of_pods.is_empty() { None } else { self.volumes_of_pods.get(&pod) }
    }

    /// Devices, classes of them and claims for them.
    #[inline]
    #[must_use]
    pub fn dra(&self) -> &DraStore {
        &self.dra
    }

    /// Adds an object of dynamic resource allocation or takes over its new state.
    pub fn upsert_dra(&mut self, object: &DraInput) -> DraNews {
        self.dra.upsert(object)
    }

    /// Forgets an object of dynamic resource allocation.
    pub fn remove_dra(&mut self, kind: DraKind, namespace: &str, name: &str) -> DraNews {
        self.dra.remove(kind, namespace, name)
    }

    /// Takes devices for a pod that is on its way to a node.
    pub(crate) fn reserve_devices(&mut self, pod: PodUid, reservation: DeviceReservation) {
        self.dra.reserve(pod, reservation);
    }

    /// Volumes or devices were taken for a pod that is on its way to a node.
    #[inline]
    #[must_use]
    pub(crate) fn has_reserved(&self, pod: PodUid) -> bool {
        self.volumes_of(pod).is_some() || self.dra.reservation(pod).is_some()
    }

    /// Gives back what was taken for a pod that is not bound after all, or that the API says it has.
    pub(crate) fn unreserve_devices(&mut self, pod: PodUid) {
        self.dra.unreserve(pod);
    }

    /// Holds the counters against counters made from the pods at hand.
    #[cfg(test)]
    pub(crate) fn check_counts(&self) {
        assert_eq!(self.supposed(), 0, "suppositions are left");
        self.topology.check_counts(placed!(self));
    }

    /// Puts node rows into list order; to be called before rows are read.
    pub fn settle(&mut self) {
        debug_assert_eq!(self.supposed(), 0, "rows move between two what-if questions");
        self.nodes.settle();
        self.topology.settle(placed!(self));
    }
}
