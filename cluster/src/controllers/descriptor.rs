//! What is known of a controller before it runs: its name, what it watches, how it is made.

use std::collections::BTreeMap;

use schedlab_core::input::NodeInput;
use serde_json::Value;

use super::{Controller, ControllerMutants};
use crate::api::{
    Api, ApiError, EventKind, GenericObject, ListQuery, NodeEntry, Object, PodFilter, PodFlags, StoredPodRow,
    WatchEvent, WatchedObject,
};
use crate::convert::node_input;

/// A controller that can be switched on.
///
/// Upstream: cmd/kube-controller-manager/app/controller_descriptor.go `ControllerDescriptor`.
#[derive(Clone, Copy, Debug)]
pub struct ControllerDescriptor {
    /// As kube-controller-manager calls it, such as `taint-eviction-controller`.
    pub name: &'static str,
    /// What it does, in one sentence without a full stop.
    pub about: &'static str,
    /// The feature gate that starts it, also where nobody asks for it by name.
    pub started_by_feature_gate: Option<&'static str>,
    /// What it is told of.
    pub scope: WatchScope,
    /// Whether its work is shared out.
    pub sharding: Sharding,
    /// Makes one, or one shard of one.
    pub constructor: fn(&ControllerSettings) -> Result<Box<dyn Controller>, ControllerConfigError>,
}

/// How the work of a controller is shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharding {
    /// One does it all.
    None,
    /// Each shard has some of the nodes and the pods on them; objects of other kinds go to every shard.
    /// Pods on no node go to none.
    ByNode {
        /// How many.
        shards: usize,
    },
}

/// Which pods a controller is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodsWatched {
    /// None.
    None,
    /// Those on nodes that may have to leave them: with execution terms (KEP-2358) always, the others from
    /// the first `NoExecute` taint on. While there is nothing of both, pods cost nothing, not even a
    /// wake-up, and nodes are kept for later.
    Evictable,
    /// All that are on a node.
    OnNodes,
    /// All.
    All,
}

/// What a controller is told of.
#[derive(Clone, Copy, Debug)]
pub struct WatchScope {
    /// Nodes.
    pub nodes: bool,
    /// Pods.
    pub pods: PodsWatched,
    /// Other kinds, as (`apps/v1`, `ReplicaSet`).
    pub kinds: &'static [(&'static str, &'static str)],
}

/// What a controller is made with.
#[derive(Clone, Debug, Default)]
pub struct ControllerSettings {
    /// Its configuration, as a workload file gives it.
    pub config: Option<Value>,
    /// The feature gates that are set, by name; all others have upstream's defaults.
    pub feature_gates: BTreeMap<String, bool>,
    /// Seed of its random choices, if it makes any.
    pub seed: u64,
    /// The defect that it is given; none, without the feature `mutants`.
    pub mutants: ControllerMutants,
}

impl ControllerSettings {
    /// Refuses a configuration: the controller has none.
    pub fn expect_no_config(&self) -> Result<(), ControllerConfigError> {
        match &self.config {
            None => Ok(()),
            Some(_) => Err(ControllerConfigError::new("it takes no configuration; remove `config`")),
        }
    }
}

/// A configuration that a controller cannot work with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ControllerConfigError(String);

impl ControllerConfigError {
    /// `what` names the field and its value, and says what would do.
    #[must_use]
    pub fn new(what: impl Into<String>) -> ControllerConfigError {
        ControllerConfigError(what.into())
    }
}

/// A controller that is switched on, and its configuration.
#[derive(Clone, Debug)]
pub struct EnabledController {
    /// Which.
    pub descriptor: &'static ControllerDescriptor,
    /// Its configuration.
    pub config: Option<Value>,
}

impl EnabledController {
    /// Without a configuration.
    #[must_use]
    pub fn new(descriptor: &'static ControllerDescriptor) -> EnabledController {
        EnabledController { descriptor, config: None }
    }

    /// Makes one and throws it away: whether its configuration will do.
    pub fn check(&self) -> Result<(), ControllerConfigError> {
        let settings = ControllerSettings { config: self.config.clone(), ..ControllerSettings::default() };
        (self.descriptor.constructor)(&settings).map(drop)
    }
}

/// The controllers that an event concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Concerns {
    Nobody,
    /// The shard of this number.
    Shard(usize),
    EveryShard,
}

impl Sharding {
    /// How many shards there are.
    #[must_use]
    pub fn shard_count(self) -> usize {
        match self {
            Sharding::None => 1,
            Sharding::ByNode { shards } => shards.max(1),
        }
    }
}

impl WatchScope {
    /// Whether the controller is told of an object.
    #[must_use]
    pub fn covers(&self, object: &WatchedObject) -> bool {
        match object {
            WatchedObject::Node(_) => self.nodes,
            WatchedObject::Pod(row) => match self.pods {
                PodsWatched::None => false,
                PodsWatched::Evictable | PodsWatched::OnNodes => row.node.is_some(),
                PodsWatched::All => true,
            },
            WatchedObject::PodEvent(_) => false,
            WatchedObject::Other(object) => self.covers_kind(object),
        }
    }

    fn covers_kind(&self, object: &GenericObject) -> bool {
        self.kinds.iter().any(|&(version, kind)| object.kind == kind && object.api_version == version)
    }

    /// The shard of `shard_count` that an object belongs to.
    pub(crate) fn concerns(&self, object: &WatchedObject, sharding: Sharding, count: usize) -> Concerns {
        if !self.covers(object) {
            return Concerns::Nobody;
        }
        let of_node = |node: crate::api::NodeNameId| Concerns::Shard(node.index() % count);
        match (sharding, object) {
            (Sharding::None, _) => Concerns::Shard(0),
            (Sharding::ByNode { .. }, WatchedObject::Node(entry)) => of_node(entry.name),
            (Sharding::ByNode { .. }, WatchedObject::Pod(row)) => row.node.map_or(Concerns::Nobody, of_node),
            (Sharding::ByNode { .. }, WatchedObject::PodEvent(_) | WatchedObject::Other(_)) => {
                Concerns::EveryShard
            }
        }
    }
}

/// What a list found, and up to which version each kind is in it.
pub(crate) struct Listed {
    /// All objects, as `Added`: other kinds first, then nodes, then pods.
    pub(crate) events: Vec<WatchEvent>,
    /// A watch from here on misses nothing, and tells some things again.
    pub(crate) resource_version: u64,
    /// `u64::MAX` for what the scope does not cover.
    nodes_version: u64,
    pods_version: u64,
    /// By kind.
    kind_versions: Vec<(&'static str, u64)>,
}

impl Listed {
    /// Whether the list has the event's object in that state or a later one.
    pub(crate) fn knows(&self, event: &WatchEvent) -> bool {
        let listed_version = match &event.object {
            WatchedObject::Node(_) => self.nodes_version,
            WatchedObject::Pod(_) => self.pods_version,
            WatchedObject::PodEvent(_) => 0,
            WatchedObject::Other(object) => {
                let listed = self.kind_versions.iter().find(|(kind, _)| *kind == object.kind);
                listed.map_or(0, |(_, version)| *version)
            }
        };
        event.resource_version() <= listed_version
    }
}

impl WatchScope {
    /// Lists what the scope covers. Upstream: the first list of each informer.
    pub(crate) fn list(&self, api: &dyn Api) -> Result<Listed, ApiError> {
        let mut events = Vec::new();
        let mut add = |object| events.push(WatchEvent { kind: EventKind::Added, object });
        let mut kind_versions = Vec::with_capacity(self.kinds.len());
        for &(version, kind) in self.kinds {
            let list = api.list(&ListQuery::all(version, kind))?;
            kind_versions.push((kind, list.resource_version));
            let others = list.items.into_iter().filter_map(Object::into_other);
            others.for_each(|object| add(WatchedObject::Other(object.into())));
        }
        let (mut nodes_version, mut pods_version) = (u64::MAX, u64::MAX);
        if self.nodes {
            let nodes = api.list(&ListQuery::all("v1", "Node"))?;
            nodes_version = nodes.resource_version;
            for node in nodes.items.into_iter().filter_map(Object::into_node) {
                add(WatchedObject::Node(node_entry(api, *node)?.into()));
            }
        }
        if self.pods != PodsWatched::None {
            let pods = api.pods_in(PodFilter::default())?;
            pods_version = pods.resource_version;
            let is_wanted = |row: &StoredPodRow| match self.pods {
                PodsWatched::Evictable => row.node.is_some() && row.flags.contains(PodFlags::EXECUTION_TERMS),
                _ => self.covers(&WatchedObject::Pod(*row)),
            };
            pods.rows.into_iter().filter(is_wanted).for_each(|row| add(WatchedObject::Pod(row)));
        }
        let versions = kind_versions.iter().map(|(_, version)| *version);
        let oldest = versions.chain([nodes_version, pods_version]).min().filter(|it| *it != u64::MAX);
        let resource_version = oldest.unwrap_or(0);
        Ok(Listed { events, resource_version, nodes_version, pods_version, kind_versions })
    }
}

fn node_entry(api: &dyn Api, node: k8s_openapi::api::core::v1::Node) -> Result<NodeEntry, ApiError> {
    let name = node.metadata.name.clone().unwrap_or_default();
    let input: NodeInput = node_input(&node).map_err(|error| ApiError::invalid("Node", &name, error))?;
    let version = node.metadata.resource_version.as_deref().and_then(|text| text.parse().ok());
    Ok(NodeEntry {
        name: api.node_name_id(&name),
        resource_version: version.unwrap_or(0),
        input: input.into(),
        object: node.into(),
    })
}
