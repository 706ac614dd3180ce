//! What the engine is told about the world: plain copies of the parts of API objects that
//! scheduling reads. `schedlab-cluster` fills them from Kubernetes objects, once per object;
//! nothing here knows a file format or an API library.
//!
//! Invariant: two pods with equal [`PodInput`]s are interchangeable to every plugin. Name, UID,
//! timestamps and everything else that differs between replicas is in [`PodMeta`].

pub mod dra;
pub mod pod_group;
pub mod storage;

use std::collections::{BTreeMap, BTreeSet};

use crate::quantity::Quantity;

/// Labels in key order.
pub type Labels = BTreeMap<String, String>;

/// Resource name to quantity, in name order.
pub type ResourceList = BTreeMap<String, Quantity>;

/// All that scheduling reads from a pod, but for its identity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PodInput {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.labels`.
    pub labels: Labels,
    /// `spec.schedulerName`; empty means the default scheduler.
    pub scheduler_name: String,
    /// `spec.priority`, 0 when absent.
    pub priority: i32,
    /// `spec.preemptionPolicy` is `Never`.
    pub preemption: PreemptionPolicy,
    /// `spec.schedulingGates[].name`, in order.
    pub scheduling_gates: Vec<String>,
    /// `spec.nodeName` of a pod that is to be evaluated although it names a node. A bound pod's
    /// node is in [`PodMeta::node_name`], not here.
    pub node_name: Option<String>,
    /// `spec.containers`.
    pub containers: Vec<ContainerInput>,
    /// `spec.initContainers`.
    pub init_containers: Vec<ContainerInput>,
    /// `spec.overhead`.
    pub overhead: ResourceList,
    /// `spec.resources.requests` (pod-level resources).
    pub pod_requests: Option<ResourceList>,
    /// What the kubelet reports about a running pod's resources.
    pub resource_status: PodResourceStatus,
    /// `spec.nodeSelector`; absent is not the same as empty.
    pub node_selector: Option<Labels>,
    /// `spec.affinity.nodeAffinity`.
    pub node_affinity: Option<NodeAffinityInput>,
    /// `spec.affinity.podAffinity`.
    pub pod_affinity: PodAffinityInput,
    /// `spec.affinity.podAntiAffinity`.
    pub pod_anti_affinity: PodAffinityInput,
    /// `spec.tolerations`.
    pub tolerations: Vec<TolerationInput>,
    /// `spec.topologySpreadConstraints`.
    pub spread_constraints: Vec<SpreadConstraintInput>,
    /// `spec.volumes`, only those that scheduling reads.
    pub volumes: Vec<VolumeInput>,
    /// `spec.hostNetwork`.
    pub host_network: bool,
    /// `spec.hostUsers` is false: the pod has a user namespace of its own.
    pub has_user_namespace: bool,
    /// The owner reference with `controller: true`.
    pub controller: Option<OwnerInput>,
    /// `metadata.deletionTimestamp` is set: topology spread no longer counts the pod.
    pub is_terminating: bool,
    /// `spec.resourceClaims`.
    pub resource_claims: Vec<dra::PodResourceClaimInput>,
    /// Of a pod with resource claims: who may own and use them. It makes such a pod a class of its own.
    pub identity: Option<dra::PodIdentityInput>,
}

/// What tells one pod from another of the same class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodMeta {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `spec.schedulingGroup.podGroupName`. It is not part of the class: gangs of one template share
    /// one, and no plugin that looks at nodes reads it.
    pub pod_group: Option<String>,
    /// `spec.nodeName` of a bound pod.
    pub node_name: Option<String>,
    /// `status.nominatedNodeName`.
    pub nominated_node_name: Option<String>,
    /// `status.startTime` in seconds since the epoch.
    pub start_time_s: Option<i64>,
    /// `metadata.creationTimestamp` in seconds since the epoch.
    pub creation_time_s: Option<i64>,
    /// `metadata.deletionTimestamp` is set.
    pub is_terminating: bool,
    /// Condition `DisruptionTarget` is true, with reason `PreemptionByScheduler`.
    pub is_preempted: bool,
    /// `status.phase` is Succeeded or Failed.
    pub is_finished: bool,
}

/// `spec.preemptionPolicy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PreemptionPolicy {
    /// The pod may preempt pods of lower priority.
    #[default]
    PreemptLowerPriority,
    /// The pod waits its turn.
    Never,
}

/// One container of `spec.containers` or `spec.initContainers`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ContainerInput {
    /// `name`.
    pub name: String,
    /// `image`, as written.
    pub image: String,
    /// `resources.requests`.
    pub requests: ResourceList,
    /// An init container with `restartPolicy: Always` (a sidecar).
    pub is_sidecar: bool,
    /// `ports` with a host port, or any port of a host-network pod after API defaulting.
    pub host_ports: Vec<HostPortInput>,
    /// Some `restartPolicyRules[].action` is `RestartAllContainers`.
    pub may_restart_all: bool,
    /// Some `volumeMounts[].bindMountOptions` is not empty.
    pub has_bind_mount_options: bool,
    /// The container's entry in `status.containerStatuses` or `status.initContainerStatuses`.
    pub status: Option<ContainerStatusInput>,
}

/// The resource fields of a container's status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ContainerStatusInput {
    /// `allocatedResources`.
    pub allocated: Option<ResourceList>,
    /// `resources.requests`.
    pub actual_requests: Option<ResourceList>,
}

/// The resource fields of a pod's status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PodResourceStatus {
    /// `status.resources` is present.
    pub has_resources: bool,
    /// `status.resources.requests`.
    pub requests: Option<ResourceList>,
    /// `status.allocatedResources`.
    pub allocated: Option<ResourceList>,
    /// Condition `PodResizePending` with reason `Infeasible`.
    pub resize_infeasible: bool,
    /// Condition `PodResizePending` with reason `Deferred`.
    pub resize_deferred: bool,
}

/// A port that a container takes on its host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct HostPortInput {
    /// `hostIP`, empty when absent.
    pub host_ip: String,
    /// `protocol`, empty when absent (TCP).
    pub protocol: String,
    /// `hostPort`, greater than 0.
    pub host_port: i32,
}

/// `spec.affinity.nodeAffinity`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeAffinityInput {
    /// `requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`.
    pub required: Option<Vec<NodeSelectorTermInput>>,
    /// `preferredDuringSchedulingIgnoredDuringExecution` as (weight, term).
    pub preferred: Option<Vec<(i32, NodeSelectorTermInput)>>,
    /// `requiredDuringSchedulingRequiredDuringExecution.nodeSelectorTerms` (KEP-2358).
    pub required_during_execution: Option<Vec<NodeSelectorTermInput>>,
}

/// A node selector term: all requirements must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeSelectorTermInput {
    /// `matchExpressions`.
    pub match_expressions: Vec<RequirementInput>,
    /// `matchFields`.
    pub match_fields: Vec<RequirementInput>,
}

/// One requirement of a selector: key, operator and values as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RequirementInput {
    /// Label key or field path.
    pub key: String,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`, or something unknown.
    pub operator: String,
    /// `values`.
    pub values: Vec<String>,
}

/// A `metav1.LabelSelector`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LabelSelectorInput {
    /// `matchLabels`.
    pub match_labels: Labels,
    /// `matchExpressions` (`In`, `NotIn`, `Exists`, `DoesNotExist`).
    pub match_expressions: Vec<RequirementInput>,
}

/// Required and preferred terms of pod affinity or anti-affinity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PodAffinityInput {
    /// `requiredDuringSchedulingIgnoredDuringExecution`.
    pub required: Vec<PodAffinityTermInput>,
    /// `preferredDuringSchedulingIgnoredDuringExecution` as (weight, term).
    pub preferred: Vec<(i32, PodAffinityTermInput)>,
}

/// A pod affinity term.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PodAffinityTermInput {
    /// `labelSelector`; absent matches no pod, empty matches every pod.
    pub label_selector: Option<LabelSelectorInput>,
    /// `namespaces`.
    pub namespaces: Vec<String>,
    /// `namespaceSelector`.
    pub namespace_selector: Option<LabelSelectorInput>,
    /// `topologyKey`.
    pub topology_key: String,
}

/// A toleration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TolerationInput {
    /// `key`, empty when absent.
    pub key: String,
    /// `operator` as written, empty when absent (`Equal`).
    pub operator: String,
    /// `value`.
    pub value: String,
    /// `effect`, empty when absent (all effects).
    pub effect: String,
    /// `tolerationSeconds`.
    pub seconds: Option<i64>,
}

/// A topology spread constraint after API defaulting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SpreadConstraintInput {
    /// `maxSkew`.
    pub max_skew: i32,
    /// `topologyKey`.
    pub topology_key: String,
    /// `whenUnsatisfiable` is `ScheduleAnyway` (otherwise `DoNotSchedule`).
    pub schedule_anyway: bool,
    /// `labelSelector`.
    pub label_selector: Option<LabelSelectorInput>,
    /// `minDomains`.
    pub min_domains: Option<i32>,
    /// `nodeAffinityPolicy` is `Ignore` (default `Honor`).
    pub ignore_node_affinity: bool,
    /// `nodeTaintsPolicy` is `Honor` (default `Ignore`).
    pub honor_node_taints: bool,
    /// `matchLabelKeys`.
    pub match_label_keys: Vec<String>,
}

/// A volume of a pod that scheduling has an opinion about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VolumeInput {
    /// `name`.
    pub name: String,
    /// Where it comes from.
    pub source: VolumeSourceInput,
}

/// The sources of volumes that scheduling reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the fields are the API's own")]
pub enum VolumeSourceInput {
    /// `persistentVolumeClaim`.
    Claim { claim_name: String, read_only: bool },
    /// `ephemeral.volumeClaimTemplate`: the claim is named `<pod>-<volume>` and must be owned by
    /// the pod. Name and UID make such a pod a class of its own.
    Ephemeral { pod_name: String, pod_uid: String },
    /// `image`.
    Image { reference: String },
    /// `csi` (inline).
    Csi { driver: String },
    /// `gcePersistentDisk`.
    GcePersistentDisk { pd_name: String, read_only: bool },
    /// `awsElasticBlockStore`.
    AwsElasticBlockStore { volume_id: String, read_only: bool },
    /// `iscsi`.
    Iscsi { target_portal: String, iqn: String, lun: i32, read_only: bool },
    /// `rbd`.
    Rbd { monitors: Vec<String>, pool: String, image: String, read_only: bool },
    /// `azureDisk`, `azureFile`, `cinder`, `vsphereVolume`, `portworxVolume`: kind and identifier.
    /// An Azure disk that is not managed, which cannot be translated to CSI, is of the kind
    /// `azureDisk/<its kind>`.
    InTree { kind: String, id: String },
}

/// The controller of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OwnerInput {
    /// `apiVersion`.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
    /// `name`.
    pub name: String,
    /// `uid`.
    pub uid: String,
}

/// All that scheduling reads from a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeInput {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.labels`.
    pub labels: Labels,
    /// `spec.taints`, in order.
    pub taints: Vec<TaintInput>,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// `status.allocatable`.
    pub allocatable: ResourceList,
    /// `status.images`.
    pub images: Vec<ImageInput>,
    /// `status.declaredFeatures`.
    pub declared_features: Vec<String>,
}

/// A taint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaintInput {
    /// `key`.
    pub key: String,
    /// `value`, empty when absent.
    pub value: String,
    /// `effect`: `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// An image on a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ImageInput {
    /// All names of the image.
    pub names: Vec<String>,
    /// `sizeBytes`.
    pub size_bytes: i64,
}

/// All that scheduling reads from a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceInput {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `spec.selector`; absent selects nothing.
    pub selector: Option<Labels>,
}

/// Which kind of workload a [`WorkloadInput`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkloadKind {
    /// `v1` ReplicationController.
    ReplicationController,
    /// `apps/v1` ReplicaSet.
    ReplicaSet,
    /// `apps/v1` StatefulSet.
    StatefulSet,
}

impl WorkloadKind {
    /// The `apiVersion` and `kind` of an owner reference to such a workload.
    #[must_use]
    pub fn type_names(self) -> (&'static str, &'static str) {
        match self {
            WorkloadKind::ReplicationController => ("v1", "ReplicationController"),
            WorkloadKind::ReplicaSet => ("apps/v1", "ReplicaSet"),
            WorkloadKind::StatefulSet => ("apps/v1", "StatefulSet"),
        }
    }
}

/// All that scheduling reads from a workload that owns pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadInput {
    /// The kind.
    pub kind: WorkloadKind,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `spec.selector`. A ReplicationController's map of labels stands in `match_labels`.
    pub selector: Option<LabelSelectorInput>,
}

/// All that scheduling reads from a PodDisruptionBudget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DisruptionBudgetInput {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `spec.selector`; absent or empty protects nothing.
    pub selector: Option<LabelSelectorInput>,
    /// `status.disruptionsAllowed`.
    pub disruptions_allowed: i32,
    /// Names of pods in `status.disruptedPods`: their eviction is already counted.
    pub disrupted_pods: BTreeSet<String>,
}
