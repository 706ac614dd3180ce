//! The world as the engine knows it: vocabulary, classes, nodes and pods, kept consistent with
//! each other. Plugins read it; only the scheduler changes it.

use std::sync::Arc;

use crate::class::{ClassTable, PodClass};
use crate::ids::{ClassId, NodeId, PodId};
use crate::input::storage::{StorageInput, StorageKey, StorageKind};
use crate::input::{NodeInput, PodInput};
use crate::interner::Vocabulary;
use crate::pods::PodTable;
use crate::snapshot::order::NodeOrdering;
use crate::snapshot::{NodeSnapshot, Upsert};
use crate::storage::{Storage, VolumeDecision};

/// Everything a decision depends on.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Interned things.
    pub vocabulary: Vocabulary,
    classes: ClassTable,
    nodes: NodeSnapshot,
    pods: PodTable,
    storage: Storage,
}

impl World {
    /// A world without nodes and pods whose node list will have this order.
    #[must_use]
    pub fn with_node_ordering(ordering: NodeOrdering) -> World {
        World { nodes: NodeSnapshot::with_ordering(ordering), ..World::default() }
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
        self.classes.compile(input, &mut self.vocabulary)
    }

    /// How many distinct specs were compiled.
    #[must_use]
    pub fn class_count(&self) -> usize {
        self.classes.len()
    }

    /// Adds a node or takes over its new attributes.
    pub fn upsert_node(&mut self, node: &NodeInput) -> NodeId {
        let (id, upsert) = self.nodes.upsert(node, &mut self.vocabulary);
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

    /// Puts a pod on a node and counts it there.
    pub fn place(&mut self, pod: PodId, node: NodeId) {
        self.pods.attach(pod, node);
        if let Some(row) = self.nodes.row_of(node) {
            let class = self.classes.get(self.pods.get(pod).class);
            self.nodes.add_pod(row, class);
            self.storage.add_pod(node, class);
        }
    }

    /// Takes a pod off its node.
    pub fn displace(&mut self, pod: PodId) {
        let row = *self.pods.get(pod);
        let node = row.node().expect("only a placed pod can be displaced");
        self.pods.detach(pod);
        if let Some(at) = self.nodes.row_of(node) {
            let class = self.classes.get(row.class);
            self.nodes.remove_pod(at, class);
            self.storage.remove_pod(node, class);
        }
    }

    /// Adds an object of storage or takes over its new state.
    pub fn upsert_storage(&mut self, object: &StorageInput) {
        let World { storage, vocabulary, nodes, .. } = self;
        match object {
            StorageInput::PersistentVolume(it) => storage.upsert_volume(it, vocabulary),
            StorageInput::PersistentVolumeClaim(it) => storage.upsert_claim(it, vocabulary),
            StorageInput::StorageClass(it) => storage.upsert_class(it, vocabulary),
            StorageInput::CsiNode(it) => {
                let node = nodes.id_of(vocabulary.symbols.intern(&it.name));
                storage.set_csi_node(node, Some(it), vocabulary);
            }
            StorageInput::CsiDriver(it) => {
                storage.set_driver(vocabulary.symbols.intern(&it.name), Some(it));
            }
            StorageInput::CsiStorageCapacity(it) => storage.upsert_capacity(it, vocabulary),
            StorageInput::VolumeAttachment(it) => {
                let node = nodes.id_of(vocabulary.symbols.intern(&it.node_name));
                storage.upsert_attachment(node, it, vocabulary);
            }
        }
    }

    /// Forgets an object of storage. Pods that use it keep naming it.
    pub fn remove_storage(&mut self, key: &StorageKey) {
        let World { storage, vocabulary, nodes, .. } = self;
        let name = vocabulary.symbols.intern(&key.name);
        match key.kind {
            StorageKind::PersistentVolume => storage.remove_volume(name, vocabulary),
            StorageKind::PersistentVolumeClaim => {
                storage.remove_claim(vocabulary.symbols.intern(&key.namespace), name, vocabulary);
            }
            StorageKind::StorageClass => storage.remove_class(name, vocabulary),
            StorageKind::CsiNode => storage.set_csi_node(nodes.id_of(name), None, vocabulary),
            StorageKind::CsiDriver => storage.set_driver(name, None),
            StorageKind::CsiStorageCapacity => storage.remove_capacity(&key.namespace, &key.name),
            StorageKind::VolumeAttachment => storage.remove_attachment(name),
        }
    }

    /// Takes the volumes that a pod gets on a node, before the API knows.
    pub fn assume_volumes(&mut self, decision: &VolumeDecision, node: NodeId) {
        self.storage.assume(decision, self.nodes.name_of(node));
    }

    /// Gives volumes back that the pod does not get after all.
    pub fn revert_volumes(&mut self, decision: &VolumeDecision) {
        self.storage.revert(decision);
    }

    /// Puts node rows into list order; to be called before rows are read.
    pub fn settle(&mut self) {
        self.nodes.settle();
    }
}
