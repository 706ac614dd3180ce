//! The trace format, typed. Field names and meanings are those of `docs/trace-format.md`.
//!
//! The parts that upstream recorded reject fields they do not know: a field nobody reads would be
//! a decision nobody compares. Kubernetes objects accept unknown fields, as API clients do.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use schedlab_cluster::api::GenericObject;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::pod_group_document::PodGroupRecord;

/// The version of the format that is read here.
pub(super) const FORMAT_VERSION: u64 = 1;

/// A recorded trace: a cluster, and what was done to it.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The file's path as given, for messages.
    pub path: String,
    /// `family`.
    pub family: String,
    /// `seed`.
    pub seed: u64,
    /// `kubernetesVersion`.
    pub kubernetes_version: String,
    /// `traits`.
    pub traits: Vec<String>,
    /// `featureGates`: those that concern the family, on or off.
    pub feature_gates: BTreeMap<String, bool>,
    /// The state before the first step.
    pub cluster: Cluster,
    /// What happened, in order.
    pub steps: Vec<TraceStep>,
}

/// The document as it stands in the file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Document {
    pub(super) format_version: u64,
    pub(super) kubernetes_version: String,
    pub(super) family: String,
    pub(super) seed: u64,
    #[serde(default)]
    pub(super) traits: Vec<String>,
    #[serde(default)]
    pub(super) feature_gates: BTreeMap<String, bool>,
    pub(super) cluster: Cluster,
    #[serde(deserialize_with = "numbered_steps")]
    pub(super) steps: Vec<RawStep>,
}

/// The state before the first step.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[allow(missing_docs, reason = "each is the list of the API objects it is named after")]
pub struct Cluster {
    // Kinds that no plugin reads yet stay JSON: typing them would double the build time.
    /// In node-list order.
    pub nodes: Vec<Node>,
    /// All bound.
    pub pods: Vec<Pod>,
    /// Pending pods with `status.nominatedNodeName`, in order of nomination.
    pub nominated: Vec<Pod>,
    pub namespaces: Vec<Value>,
    pub services: Vec<Value>,
    pub replication_controllers: Vec<Value>,
    pub replica_sets: Vec<Value>,
    pub stateful_sets: Vec<Value>,
    pub pod_disruption_budgets: Vec<Value>,
    pub persistent_volumes: Vec<GenericObject>,
    pub persistent_volume_claims: Vec<GenericObject>,
    pub storage_classes: Vec<GenericObject>,
    pub csi_nodes: Vec<GenericObject>,
    pub csi_drivers: Vec<GenericObject>,
    pub csi_storage_capacities: Vec<GenericObject>,
    pub volume_attachments: Vec<GenericObject>,
    pub pod_groups: Vec<GenericObject>,
    pub device_classes: Vec<GenericObject>,
    pub resource_slices: Vec<GenericObject>,
    pub resource_claims: Vec<GenericObject>,
    pub resource_claim_templates: Vec<GenericObject>,
    pub device_taint_rules: Vec<GenericObject>,
}

/// One step. Pods are named `namespace/name`.
#[derive(Clone, Debug)]
pub enum TraceStep {
    /// One scheduling cycle for a pending pod.
    Schedule {
        /// The pod.
        pod: Box<Pod>,
        /// What upstream decided.
        record: Box<ScheduleRecord>,
    },
    /// A bound pod disappears.
    DeletePod {
        /// The pod.
        pod: String,
    },
    /// A bound pod is replaced.
    UpdatePod {
        /// The new pod.
        pod: Box<Pod>,
    },
    /// A node is appended to the list.
    AddNode {
        /// The node.
        node: Box<Node>,
    },
    /// A node is replaced in its place.
    UpdateNode {
        /// The new node.
        node: Box<Node>,
    },
    /// A node and the pods on it disappear.
    RemoveNode {
        /// The node.
        node: String,
        /// Pods that were on it.
        pods_removed: Vec<String>,
        /// Pods that were nominated to it.
        nominations_cleared: Vec<String>,
    },
    /// A pending pod is nominated to a node.
    Nominate {
        /// The pod, with `status.nominatedNodeName`.
        pod: Box<Pod>,
    },
    /// A nomination ends without a binding.
    ClearNomination {
        /// The pod.
        pod: String,
    },
    /// Volumes, claims and pod groups are created or replaced.
    ApplyObjects {
        /// The objects.
        objects: Vec<AppliedObject>,
    },
    /// One scheduling cycle for a pod group.
    SchedulePodGroup {
        /// The group.
        pod_group: String,
        /// Its pending members, in the order in which they are tried.
        pods: Vec<Pod>,
        /// What upstream decided.
        record: Box<PodGroupRecord>,
    },
    /// Objects disappear.
    DeleteObjects {
        /// Which.
        objects: Vec<ObjectName>,
    },
}

/// An object of `resource.k8s.io`, by kind and name.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectName {
    /// `kind`.
    pub kind: String,
    /// `metadata.namespace`, empty for kinds of the whole cluster.
    #[serde(default)]
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
}

/// What a `schedule` step recorded.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ScheduleRecord {
    /// What PreFilter decided for all nodes, if anything.
    pub pre_filter: PreFilterRecord,
    /// Plugins whose Filter did not run.
    pub skip_filter: Vec<String>,
    /// Plugins whose Score did not run.
    pub skip_score: Vec<String>,
    /// By node, in node-list order; absent when PreFilter rejected the pod.
    pub nodes: Option<Vec<NodeRecord>>,
    /// The chosen node.
    pub chosen: Option<String>,
    /// Feasible nodes that share the highest total.
    pub ties: Option<usize>,
    /// The pod's nominated node was taken without regard to scores.
    pub via_nominated: bool,
    /// What the volume binder decided.
    pub volumes: Option<VolumesRecord>,
    /// What preemption would do.
    pub preemption: Option<PreemptionRecord>,
    /// A PreEnqueue plugin would keep the pod out of the queue.
    pub pre_enqueue: Option<RejectionRecord>,
    /// A plugin had no answer, which ended the cycle.
    pub aborted: bool,
    /// What becomes of the pod's claims, in the order of its spec.
    pub claims: Vec<ClaimRecord>,
    /// What PostFilter of DynamicResources did.
    pub post_filter: Option<PostFilterRecord>,
}

/// What becomes of a claim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimRecord {
    /// `namespace/name`.
    pub claim: String,
    /// `status.allocation`, of a claim that is allocated.
    #[serde(default)]
    pub allocation: Option<Value>,
    /// Nothing: the claim has the pod already.
    #[serde(default)]
    pub already_reserved: bool,
    /// It is made for the pod's extended resources.
    #[serde(default)]
    pub extended: bool,
    /// Which container uses which of its requests.
    #[serde(default)]
    pub request_mappings: Vec<RequestMappingRecord>,
}

/// A container's use of a request.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestMappingRecord {
    /// The container.
    pub container_name: String,
    /// The extended resource.
    pub resource_name: String,
    /// The request.
    pub request_name: String,
}

/// What PostFilter of DynamicResources did.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PostFilterRecord {
    /// The plugin.
    pub plugin: String,
    /// The claim that lost its allocation.
    pub deallocated: String,
    /// All that could have, when there are several.
    #[serde(default)]
    pub candidates: Vec<String>,
}

/// PreFilter's decision for all nodes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PreFilterRecord {
    /// The pod was rejected on all nodes.
    pub rejected: Option<RejectionRecord>,
    /// Only these nodes were filtered (sorted; may name absent nodes).
    pub nodes: Option<Vec<String>>,
    /// The plugins that named nodes.
    pub nodes_by: Vec<String>,
}

/// A plugin's rejection.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RejectionRecord {
    /// The plugin; absent when several plugins' node sets were disjoint.
    pub plugin: Option<String>,
    /// The code.
    pub code: String,
    /// Why; a set.
    pub reasons: Vec<String>,
}

/// What was recorded of one node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeRecord {
    /// The node.
    pub name: String,
    /// It passes all filters.
    pub feasible: bool,
    /// The first plugin that rejects it, or the plugins that narrowed the search, joined by `,`.
    #[serde(default)]
    pub plugin: Option<String>,
    /// That plugin's code.
    #[serde(default)]
    pub code: Option<String>,
    /// That plugin's reasons; a set.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// Rejections by plugins after the first, in Filter order.
    #[serde(default)]
    pub also: Vec<RejectionRecord>,
    /// Weighted scores by plugin.
    #[serde(default)]
    pub scores: BTreeMap<String, i64>,
    /// What Score returned, by plugin.
    #[serde(default)]
    pub raw: BTreeMap<String, i64>,
    /// The sum of `scores`; present when the node is feasible.
    #[serde(default)]
    pub total: Option<i64>,
    /// By claim that is to be allocated, what it would get: `request=driver/pool/device`.
    #[serde(default)]
    pub devices: BTreeMap<String, Vec<String>>,
}

/// What the volume binder decided.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct VolumesRecord {
    /// Claims bound to volumes that exist.
    #[serde(rename = "static")]
    pub bound: Vec<BoundClaim>,
    /// Claims for which a volume is provisioned.
    pub provisioned: Vec<String>,
}

/// A claim and the volume it gets.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoundClaim {
    /// The claim.
    pub pvc: String,
    /// The volume.
    pub pv: String,
}

/// What preemption would do, and what was done.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PreemptionRecord {
    /// The pod may preempt.
    pub eligible: bool,
    /// Why not.
    pub reason: Option<String>,
    /// Nodes that eviction might help.
    pub potential_nodes: Vec<String>,
    /// Nodes that eviction helps.
    pub candidates: Vec<CandidateRecord>,
    /// Potential nodes that eviction does not help.
    pub failed: Vec<FailedRecord>,
    /// The candidate picked.
    pub chosen: Option<String>,
    /// Candidates that are equal to the one picked.
    pub tied: Vec<String>,
    /// What was done to the cluster.
    pub applied: Applied,
}

/// A node that eviction makes room on.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CandidateRecord {
    /// The node.
    pub node: String,
    /// Who would have to go, most important first.
    #[serde(default)]
    pub victims: Vec<String>,
    /// Victims protected by a budget.
    #[serde(default)]
    pub pdb_violations: usize,
}

/// A node that eviction does not help.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FailedRecord {
    /// The node.
    pub node: String,
    /// Who still rejects; absent when there are no victims.
    #[serde(default)]
    pub plugin: Option<String>,
    /// Its code.
    #[serde(default)]
    pub code: Option<String>,
    /// Its reasons.
    #[serde(default)]
    pub reasons: Vec<String>,
}

/// What preemption did to the cluster.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Applied {
    /// Pods deleted at once.
    pub evicted: Vec<String>,
    /// Where the pod was nominated to.
    pub nominated_node_name: Option<String>,
    /// Pods that lost their nomination.
    pub nominations_cleared: Vec<String>,
}

impl Cluster {
    /// Volumes, claims and the objects around them.
    pub fn storage(&self) -> impl Iterator<Item = &GenericObject> {
        [
            &self.storage_classes,
            &self.csi_drivers,
            &self.csi_nodes,
            &self.csi_storage_capacities,
            &self.persistent_volumes,
            &self.persistent_volume_claims,
            &self.volume_attachments,
        ]
        .into_iter()
        .flatten()
    }
}

impl Cluster {
    /// Devices, classes, claims and rules, in the order in which a scheduler may hear of them.
    pub fn dra(&self) -> impl Iterator<Item = &GenericObject> {
        [&self.device_classes, &self.device_taint_rules, &self.resource_slices, &self.resource_claims]
            .into_iter()
            .flatten()
    }
}

/// An object of an `applyObjects` step.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum AppliedObject {
    /// A pod group.
    PodGroup(Box<PodGroupObject>),
    /// A volume.
    Volume(Box<PersistentVolume>),
    /// A claim.
    Claim(Box<PersistentVolumeClaim>),
    /// An object of `resource.k8s.io`.
    Other(Box<GenericObject>),
}

/// A pod group: an object that says that it is one.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "GenericObject")]
pub struct PodGroupObject(pub GenericObject);

impl TryFrom<GenericObject> for PodGroupObject {
    type Error = &'static str;

    fn try_from(object: GenericObject) -> Result<Self, Self::Error> {
        if object.kind == "PodGroup" { Ok(PodGroupObject(object)) } else { Err("not a PodGroup") }
    }
}

/// A step as it stands in the file: which fields it must have depends on `op`, so that is checked
/// once the step has been read. An enum tagged by `op` would buffer every object to find its tag
/// and lose the place of errors.
///
/// Only the result depends on `op` while it is read, so `op` stands before it.
#[derive(Debug, Default)]
pub(super) struct RawStep {
    pub(super) op: String,
    pub(super) pod: Option<NameOr<Pod>>,
    pub(super) node: Option<NameOr<Node>>,
    pub(super) result: Option<Box<ScheduleRecord>>,
    pub(super) pod_group: Option<String>,
    pub(super) pods: Option<Vec<Pod>>,
    pub(super) pod_group_result: Option<Box<PodGroupRecord>>,
    pub(super) pods_removed: Vec<String>,
    pub(super) nominations_cleared: Vec<String>,
    pub(super) objects: Option<Value>,
}

/// The op whose result is that of a pod group.
pub(super) const SCHEDULE_POD_GROUP: &str = "schedulePodGroup";

const STEP_FIELDS: &[&str] =
    &["op", "pod", "node", "result", "podGroup", "pods", "podsRemoved", "nominationsCleared", "objects"];

impl<'de> Deserialize<'de> for RawStep {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = RawStep;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a step")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawStep, A::Error> {
                let mut step = RawStep::default();
                while let Some(field) = map.next_key::<String>()? {
                    match field.as_str() {
                        "op" => step.op = map.next_value()?,
                        "pod" => step.pod = map.next_value()?,
                        "node" => step.node = map.next_value()?,
                        "result" if step.op == SCHEDULE_POD_GROUP => {
                            step.pod_group_result = map.next_value()?;
                        }
                        "result" => step.result = map.next_value()?,
                        "podGroup" => step.pod_group = map.next_value()?,
                        "pods" => step.pods = map.next_value()?,
                        "podsRemoved" => step.pods_removed = map.next_value()?,
                        "nominationsCleared" => step.nominations_cleared = map.next_value()?,
                        "objects" => step.objects = map.next_value()?,
                        unknown => return Err(A::Error::unknown_field(unknown, STEP_FIELDS)),
                    }
                }
                if step.op.is_empty() {
                    return Err(A::Error::missing_field("op"));
                }
                Ok(step)
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

/// A reference to an object, or the object.
#[derive(Debug)]
pub(super) enum NameOr<T> {
    Name(String),
    Object(Box<T>),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for NameOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = NameOr<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name or an object")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
                Ok(NameOr::Name(name.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|object| NameOr::Object(Box::new(object)))
            }
        }

        deserializer.deserialize_any(Either(std::marker::PhantomData))
    }
}

/// Reads the list of steps so that an error says which step it is in.
fn numbered_steps<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<RawStep>, D::Error> {
    struct Steps;

    impl<'de> Visitor<'de> for Steps {
        type Value = Vec<RawStep>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of steps")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut steps = Vec::new();
            loop {
                // serde_json finds line and column again at the end of a wrapped message.
                let step = list.next_element();
                match step.map_err(|error| A::Error::custom(format!("step {}: {error}", steps.len())))? {
                    Some(step) => steps.push(step),
                    None => return Ok(steps),
                }
            }
        }
    }

    deserializer.deserialize_seq(Steps)
}
