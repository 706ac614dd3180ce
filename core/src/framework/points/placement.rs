//! PlacementGenerate and PlacementScore: which sets of nodes a pod group may be placed on, and which of
//! those that would do is best.
//!
//! Upstream: kube-scheduler/framework/interface.go `PlacementGeneratePlugin`, `PlacementScorePlugin`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ids::{ClassId, PodGroupId, PodId};
use crate::input::pod_group::PodGroupInput;
use crate::snapshot::mask::NodeMask;
use crate::world::World;

/// A set of nodes that a pod group may be placed on.
#[derive(Clone, Debug)]
pub struct Placement {
    /// What it is called; empty when it is all nodes.
    pub name: Arc<str>,
    /// The nodes; `None` stands for all.
    pub nodes: Option<Arc<NodeMask>>,
}

impl Placement {
    /// All nodes, as a group without constraints has it.
    #[must_use]
    pub fn everywhere() -> Placement {
        Placement { name: Arc::from(""), nodes: None }
    }
}

/// The pod group a plugin is asked about.
#[derive(Clone, Copy, Debug)]
pub struct PodGroupRef<'a> {
    /// Its id.
    pub id: PodGroupId,
    /// The object.
    pub object: &'a PodGroupInput,
}

/// A member and the node it would get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProposedAssignment {
    /// The pod.
    pub pod: PodId,
    /// Its class.
    pub class: ClassId,
    /// The node's row.
    pub row: usize,
}

/// What a placement would do for a group.
#[derive(Clone, Copy, Debug)]
pub struct PodGroupAssignments<'a> {
    /// The placement.
    pub placement: &'a Placement,
    /// The members that found a node in it.
    pub proposed: &'a [ProposedAssignment],
}

/// Says which sets of nodes are tried for a pod group. A profile has at most one.
pub trait PlacementGeneratePlugin {
    /// The placements, by name. An error ends the attempt.
    fn generate_placements(
        &self,
        world: &World,
        group: PodGroupRef<'_>,
        domains: &mut TopologyDomains,
    ) -> Result<Arc<[Placement]>, String>;
}

/// Says which placement is better.
pub trait PlacementScorePlugin {
    /// The score of a placement. No member is on its node yet.
    fn score_placement(
        &self,
        world: &World,
        group: PodGroupRef<'_>,
        assignments: PodGroupAssignments<'_>,
    ) -> i64;

    /// Brings the scores of all placements to the scale of 0 to 100.
    fn normalize_placement_scores(&self, _scores: &mut [i64]) -> Result<(), String> {
        Ok(())
    }
}

/// Labels whose domains are kept at most.
const KEPT_MAX: usize = 16;

/// The nodes by the values of a label, kept as long as no node changes its labels or its row. Of one
/// world.
#[derive(Clone, Debug, Default)]
pub struct TopologyDomains {
    version: u64,
    kept: Vec<(String, Arc<[Placement]>)>,
}

impl TopologyDomains {
    /// A placement for each value of a label, by name. Nodes without the label are in none.
    pub fn of(&mut self, world: &World, key: &str) -> Arc<[Placement]> {
        let version = world.nodes().attributes_version();
        if self.version != version || self.kept.len() >= KEPT_MAX {
            self.kept.clear();
            self.version = version;
        }
        if let Some((_, placements)) = self.kept.iter().find(|(known, _)| known == key) {
            return Arc::clone(placements);
        }
        let placements = domains(world, key);
        self.kept.push((key.to_owned(), Arc::clone(&placements)));
        placements
    }
}

fn domains(world: &World, key: &str) -> Arc<[Placement]> {
    let Some(key) = world.vocabulary.symbols.get(key) else { return Arc::new([]) };
    let node_count = world.nodes().node_count();
    let mut by_value: BTreeMap<&str, NodeMask> = BTreeMap::new();
    for row in 0..node_count {
        if let Some(value) = world.node_label(row, key) {
            by_value.entry(value).or_insert_with(|| NodeMask::none(node_count)).insert(row);
        }
    }
    let placement = |(name, nodes): (&str, NodeMask)| {
        // A placement of all nodes is as good as none, and cheaper.
        let nodes = (nodes.count() < node_count).then(|| Arc::new(nodes));
        Placement { name: Arc::from(name), nodes }
    };
    by_value.into_iter().map(placement).collect()
}
