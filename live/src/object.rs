//! Objects from the text of their JSON, as far as scheduling reads them.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod, PodCondition};
use schedlab_cluster::api::{DISRUPTION_TARGET, GenericObject, PodFlags, PodPhase};
use schedlab_cluster::convert::{node_input, pod_input};
use schedlab_core::input::{NodeInput, PodInput, PodMeta};
use schedlab_objects::{node_from_text, object_from_text, pod_from_text};

use crate::discovery::ServedKind;

/// An object that was read.
#[derive(Clone, Debug)]
pub(crate) enum ReadObject {
    Pod(Box<ReadPod>),
    Node(Box<ReadNode>),
    Other(Arc<GenericObject>),
}

/// What is kept of a pod.
#[derive(Clone, Debug)]
pub(crate) struct ReadPod {
    pub(crate) input: PodInput,
    pub(crate) meta: PodMeta,
    pub(crate) resource_version: u64,
    pub(crate) generation: i64,
    pub(crate) phase: PodPhase,
    pub(crate) flags: PodFlags,
    /// PodScheduled and DisruptionTarget, which the scheduler writes.
    pub(crate) conditions: Vec<OwnCondition>,
}

/// A condition that the scheduler writes, as the API has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnCondition {
    pub(crate) type_: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    /// `lastTransitionTime`.
    pub(crate) transition: Option<String>,
}

/// A node.
#[derive(Clone, Debug)]
pub(crate) struct ReadNode {
    pub(crate) input: Arc<NodeInput>,
    pub(crate) object: Arc<Node>,
    pub(crate) resource_version: u64,
}

/// The condition of a pod that says whether it has a node.
pub(crate) const POD_SCHEDULED: &str = "PodScheduled";

impl ReadObject {
    /// Reads an object of a kind; what is wrong with it if it cannot be read.
    pub(crate) fn read(text: &[u8], kind: &ServedKind) -> Result<ReadObject, String> {
        match (kind.row.api_version, kind.row.name) {
            ("v1", "Pod") => {
                let pod = pod_from_text(text).map_err(|error| error.to_string())?;
                read_pod(&pod).map(|pod| ReadObject::Pod(Box::new(pod)))
            }
            ("v1", "Node") => {
                let node = node_from_text(text).map_err(|error| error.to_string())?;
                read_node(node).map(|node| ReadObject::Node(Box::new(node)))
            }
            _ => {
                let mut object = object_from_text(text, &kind.api_version, kind.row.name)
                    .map_err(|error| error.to_string())?;
                object.resource_version = number(object.metadata.resource_version.as_deref());
                Ok(ReadObject::Other(Arc::new(object)))
            }
        }
    }

    /// The version that was read.
    pub(crate) fn resource_version(&self) -> u64 {
        match self {
            ReadObject::Pod(pod) => pod.resource_version,
            ReadObject::Node(node) => node.resource_version,
            ReadObject::Other(object) => object.resource_version,
        }
    }

    /// When it was made; what has no time comes first.
    pub(crate) fn created_s(&self) -> i64 {
        match self {
            ReadObject::Pod(pod) => pod.meta.creation_time_s.unwrap_or(0),
            ReadObject::Node(_) | ReadObject::Other(_) => 0,
        }
    }
}

fn read_pod(pod: &Pod) -> Result<ReadPod, String> {
    let (input, meta) = pod_input(pod).map_err(|error| error.to_string())?;
    let status = pod.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let is_own = |condition: &&PodCondition| matches!(&*condition.type_, POD_SCHEDULED | DISRUPTION_TARGET);
    Ok(ReadPod {
        resource_version: number(pod.metadata.resource_version.as_deref()),
        generation: pod.metadata.generation.unwrap_or(0),
        phase: PodPhase::parse(status.and_then(|status| status.phase.as_deref()).unwrap_or_default()),
        flags: flags_of(pod, &meta),
        conditions: conditions.iter().filter(is_own).map(own_condition).collect(),
        input,
        meta,
    })
}

fn flags_of(pod: &Pod, meta: &PodMeta) -> PodFlags {
    let has = |list: Option<usize>| list.is_some_and(|count| 0 < count);
    let gates = pod.spec.as_ref().and_then(|spec| spec.scheduling_gates.as_ref());
    let facts = [
        (meta.is_terminating, PodFlags::TERMINATING),
        (meta.is_preempted, PodFlags::PREEMPTED),
        (has(pod.metadata.finalizers.as_ref().map(Vec::len)), PodFlags::FINALIZERS),
        (has(gates.map(Vec::len)), PodFlags::GATED),
    ];
    let holding = facts.into_iter().filter(|(holds, _)| *holds);
    holding.fold(PodFlags::LIVE, |flags, (_, fact)| flags.with(fact))
}

fn own_condition(condition: &PodCondition) -> OwnCondition {
    OwnCondition {
        type_: condition.type_.clone(),
        status: condition.status.clone(),
        reason: condition.reason.clone().unwrap_or_default(),
        message: condition.message.clone().unwrap_or_default(),
        transition: condition.last_transition_time.as_ref().map(|time| time.0.to_string()),
    }
}

fn read_node(node: Node) -> Result<ReadNode, String> {
    let input = Arc::new(node_input(&node).map_err(|error| error.to_string())?);
    let resource_version = number(node.metadata.resource_version.as_deref());
    Ok(ReadNode { input, object: Arc::new(node), resource_version })
}

/// Versions are numbers in every API server there is; the scheduler compares those of one pod.
fn number(resource_version: Option<&str>) -> u64 {
    resource_version.and_then(|text| text.parse().ok()).unwrap_or(0)
}
