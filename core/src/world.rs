//! The world as the engine knows it: vocabulary, classes, nodes and pods, kept consistent with
//! each other. Plugins read it; only the scheduler changes it.

use std::sync::Arc;

use crate::class::{ClassTable, PodClass};
use crate::ids::{ClassId, NodeId, PodId};
use crate::input::{NodeInput, PodInput};
use crate::interner::Vocabulary;
use crate::pods::PodTable;
use crate::snapshot::order::NodeOrdering;
use crate::snapshot::{NodeSnapshot, Upsert};

/// Everything a decision depends on.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Interned things.
    pub vocabulary: Vocabulary,
    classes: ClassTable,
    nodes: NodeSnapshot,
    pods: PodTable,
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
            }
        }
        id
    }

    /// Takes a node out of the list; pods on it stay known.
    pub fn remove_node(&mut self, id: NodeId) {
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
            self.nodes.add_pod(row, self.classes.get(self.pods.get(pod).class));
        }
    }

    /// Takes a pod off its node.
    pub fn displace(&mut self, pod: PodId) {
        let row = *self.pods.get(pod);
        let node = row.node().expect("only a placed pod can be displaced");
        self.pods.detach(pod);
        if let Some(at) = self.nodes.row_of(node) {
            self.nodes.remove_pod(at, self.classes.get(row.class));
        }
    }

    /// Puts node rows into list order; to be called before rows are read.
    pub fn settle(&mut self) {
        self.nodes.settle();
    }
}
