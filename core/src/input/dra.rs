//! What the engine is told of dynamic resource allocation: slices of devices, classes of them, claims for
//! them and rules that taint them, as plain copies of `resource.k8s.io/v1` as far as scheduling reads it.
//!
//! Selectors come compiled: whoever fills these inputs knows CEL, the engine knows [`DeviceSelector`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::input::NodeSelectorTermInput;
use crate::quantity::Quantity;

/// Quantities by name.
pub type Quantities = BTreeMap<Arc<str>, Quantity>;

/// A device as a selector sees it.
#[derive(Clone, Copy, Debug)]
pub struct SelectedDevice<'a> {
    /// The driver: the domain of names without one.
    pub driver: &'a str,
    /// `allowMultipleAllocations`.
    pub allow_multiple_allocations: bool,
    /// `attributes`.
    pub attributes: &'a BTreeMap<Arc<str>, DeviceAttributeInput>,
    /// `capacity`.
    pub capacity: &'a BTreeMap<Arc<str>, DeviceCapacityInput>,
}

/// Why a selector has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectorError {
    /// The expression is no CEL, or not of the right types: it has no answer for any device.
    Compile(String),
    /// It has none for this device.
    Runtime(String),
}

/// A compiled expression over devices.
pub trait DeviceSelector: fmt::Debug + Send + Sync {
    /// Whether it selects a device.
    ///
    /// # Errors
    ///
    /// When the expression does not compile, or fails on this device.
    fn matches(&self, device: SelectedDevice<'_>) -> Result<bool, SelectorError>;
}

/// `selectors[]`; equal when the expressions are.
#[derive(Clone, Debug)]
pub struct SelectorInput {
    /// `cel.expression`.
    pub expression: Arc<str>,
    /// What it was compiled to.
    pub program: Arc<dyn DeviceSelector>,
}

impl PartialEq for SelectorInput {
    fn eq(&self, other: &SelectorInput) -> bool {
        self.expression == other.expression
    }
}

impl Eq for SelectorInput {}

/// A device by the names that tell it from all others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceKey {
    /// The driver.
    pub driver: Arc<str>,
    /// The pool.
    pub pool: Arc<str>,
    /// The device's name in the pool.
    pub device: Arc<str>,
}

impl fmt::Display for DeviceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.driver, self.pool, self.device)
    }
}

/// Which nodes can reach a device, of a slice or of a single device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeReachInput {
    /// `nodeName`.
    pub node_name: Option<String>,
    /// `nodeSelector.nodeSelectorTerms`.
    pub node_selector: Option<Vec<NodeSelectorTermInput>>,
    /// `allNodes` is true.
    pub all_nodes: bool,
}

/// A ResourceSlice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceSliceInput {
    /// `metadata.name`.
    pub name: String,
    /// `spec.driver`.
    pub driver: Arc<str>,
    /// `spec.pool.name`.
    pub pool: Arc<str>,
    /// `spec.pool.generation`.
    pub generation: i64,
    /// `spec.pool.resourceSliceCount`.
    pub slice_count: i64,
    /// `spec.nodeName`, `spec.nodeSelector`, `spec.allNodes`.
    pub reach: NodeReachInput,
    /// `spec.perDeviceNodeSelection` is true.
    pub per_device_node_selection: bool,
    /// `spec.sharedCounters`.
    pub shared_counters: Vec<CounterSetInput>,
    /// `spec.devices`.
    pub devices: Vec<DeviceInput>,
}

/// `spec.sharedCounters[]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterSetInput {
    /// `name`.
    pub name: Arc<str>,
    /// `counters`.
    pub counters: Quantities,
}

/// `consumesCounters[]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterConsumptionInput {
    /// `counterSet`.
    pub counter_set: Arc<str>,
    /// `counters`.
    pub counters: Quantities,
    /// `compatibilityGroups` is not empty.
    pub has_compatibility_groups: bool,
}

/// A device of a slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceInput {
    /// `name`.
    pub name: Arc<str>,
    /// `attributes`, by qualified name.
    pub attributes: BTreeMap<Arc<str>, DeviceAttributeInput>,
    /// `capacity`, by qualified name.
    pub capacity: BTreeMap<Arc<str>, DeviceCapacityInput>,
    /// `consumesCounters`.
    pub consumes_counters: Vec<CounterConsumptionInput>,
    /// `nodeName`, `nodeSelector`, `allNodes`, where the slice leaves them to its devices.
    pub reach: NodeReachInput,
    /// `taints`, and those of rules once the tracker has been over them.
    pub taints: Vec<DeviceTaintInput>,
    /// `bindsToNode`.
    pub binds_to_node: bool,
    /// `bindingConditions`; absent is not the same as empty.
    pub binding_conditions: Option<Vec<String>>,
    /// `bindingFailureConditions`.
    pub binding_failure_conditions: Option<Vec<String>>,
    /// `allowMultipleAllocations`.
    pub allow_multiple_allocations: bool,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceAttributeInput {
    /// `int`.
    Int(i64),
    /// `bool`.
    Bool(bool),
    /// `string`.
    String(Arc<str>),
    /// `version`: a semantic version.
    Version(Arc<str>),
    /// None of these.
    Unknown,
}

/// `capacity[]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceCapacityInput {
    /// `value`.
    pub value: Quantity,
    /// `requestPolicy`.
    pub request_policy: Option<CapacityRequestPolicyInput>,
}

/// `requestPolicy`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapacityRequestPolicyInput {
    /// `default`.
    pub default: Option<Quantity>,
    /// `validValues`, ascending.
    pub valid_values: Option<Vec<Quantity>>,
    /// `validRange`.
    pub valid_range: Option<CapacityRangeInput>,
}

/// `validRange`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapacityRangeInput {
    /// `min`.
    pub min: Option<Quantity>,
    /// `max`.
    pub max: Option<Quantity>,
    /// `step`.
    pub step: Option<Quantity>,
}

/// A taint of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceTaintInput {
    /// `key`.
    pub key: String,
    /// `value`.
    pub value: String,
    /// `effect`.
    pub effect: String,
}

/// A toleration of device taints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceTolerationInput {
    /// `key`; empty means every key.
    pub key: String,
    /// `operator`; empty means `Equal`.
    pub operator: String,
    /// `value`.
    pub value: String,
    /// `effect`; empty means every effect.
    pub effect: String,
    /// `tolerationSeconds`, which only travels through.
    pub seconds: Option<i64>,
}

/// A DeviceTaintRule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceTaintRuleInput {
    /// `metadata.name`.
    pub name: String,
    /// `spec.deviceSelector.driver`.
    pub driver: Option<String>,
    /// `spec.deviceSelector.pool`.
    pub pool: Option<String>,
    /// `spec.deviceSelector.device`.
    pub device: Option<String>,
    /// `spec.taint`.
    pub taint: DeviceTaintInput,
}

/// A DeviceClass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceClassInput {
    /// `metadata.name`.
    pub name: Arc<str>,
    /// `metadata.creationTimestamp` in seconds since the epoch.
    pub created_s: i64,
    /// `spec.selectors`.
    pub selectors: Vec<SelectorInput>,
    /// `spec.config[]`, each as the text of its JSON.
    pub config: Vec<Arc<str>>,
    /// `spec.extendedResourceName`.
    pub extended_resource_name: Option<String>,
}

/// A ResourceClaim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceClaimInput {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.deletionTimestamp` is set.
    pub is_deleting: bool,
    /// `name` and `uid` of the owner reference with `controller: true`.
    pub controller: Option<(String, String)>,
    /// It was made by the scheduler for a pod's extended resources: annotation
    /// `resource.kubernetes.io/extended-resource-claim`.
    pub is_for_extended_resources: bool,
    /// `spec.devices.requests`.
    pub requests: Vec<DeviceRequestInput>,
    /// `spec.devices.constraints`.
    pub constraints: Vec<DeviceConstraintInput>,
    /// `spec.devices.config`.
    pub config: Vec<DeviceConfigInput>,
    /// `status.allocation`.
    pub allocation: Option<Arc<AllocationInput>>,
    /// `status.reservedFor[].uid`.
    pub reserved_for: Vec<String>,
    /// `status.devices`.
    pub devices: Vec<AllocatedDeviceStatusInput>,
}

/// `spec.devices.requests[]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceRequestInput {
    /// `name`.
    pub name: Arc<str>,
    /// `exactly`.
    pub exactly: Option<ExactDeviceRequestInput>,
    /// `firstAvailable`, each with its name.
    pub first_available: Vec<(Arc<str>, ExactDeviceRequestInput)>,
}

/// How many devices a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceAllocationMode {
    /// `ExactCount`, with the count.
    ExactCount(i64),
    /// `All`.
    All,
    /// Something unknown.
    Unknown,
}

/// `exactly`, or an entry of `firstAvailable`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactDeviceRequestInput {
    /// `deviceClassName`.
    pub device_class_name: Arc<str>,
    /// `selectors`.
    pub selectors: Vec<SelectorInput>,
    /// `allocationMode` and `count`.
    pub mode: DeviceAllocationMode,
    /// `adminAccess` is true.
    pub admin_access: bool,
    /// `tolerations`.
    pub tolerations: Vec<DeviceTolerationInput>,
    /// `capacity.requests`.
    pub capacity: Quantities,
}

/// `spec.devices.constraints[]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceConstraintInput {
    /// `requests`; empty means all.
    pub requests: Vec<String>,
    /// `matchAttribute`.
    pub match_attribute: Option<String>,
    /// `distinctAttribute`.
    pub distinct_attribute: Option<String>,
}

/// `spec.devices.config[]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceConfigInput {
    /// `requests`; empty means all.
    pub requests: Vec<String>,
    /// The rest, as the text of its JSON.
    pub body: Arc<str>,
}

/// `status.allocation`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocationInput {
    /// `devices.results`.
    pub results: Vec<DeviceResultInput>,
    /// `devices.config`.
    pub config: Vec<AllocationConfigInput>,
    /// `nodeSelector.nodeSelectorTerms`.
    pub node_selector: Option<Vec<NodeSelectorTermInput>>,
    /// `allocationTimestamp` is set.
    pub has_timestamp: bool,
}

/// `status.allocation.devices.results[]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceResultInput {
    /// `request`: the request's name, or `request/subrequest`.
    pub request: String,
    /// `driver`, `pool` and `device`.
    pub device: DeviceKey,
    /// `adminAccess` is true.
    pub admin_access: bool,
    /// `tolerations`.
    pub tolerations: Vec<DeviceTolerationInput>,
    /// `shareID`.
    pub share_id: Option<Arc<str>>,
    /// `consumedCapacity`.
    pub consumed_capacity: Option<Quantities>,
    /// `bindingConditions`; absent is not the same as empty.
    pub binding_conditions: Option<Vec<String>>,
    /// `bindingFailureConditions`.
    pub binding_failure_conditions: Option<Vec<String>>,
}

/// `status.allocation.devices.config[]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocationConfigInput {
    /// `source` is `FromClass`, otherwise `FromClaim`.
    pub is_from_class: bool,
    /// `requests`; empty means all.
    pub requests: Vec<String>,
    /// The rest, as the text of its JSON.
    pub body: Arc<str>,
}

/// `status.devices[]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocatedDeviceStatusInput {
    /// Which device.
    pub device: DeviceKey,
    /// `conditions`: type, and whether its status is `True`.
    pub conditions: Vec<(String, bool)>,
}

/// An object of dynamic resource allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DraInput {
    /// A slice of devices.
    ResourceSlice(Arc<ResourceSliceInput>),
    /// A claim.
    ResourceClaim(Arc<ResourceClaimInput>),
    /// A class of devices.
    DeviceClass(Arc<DeviceClassInput>),
    /// A rule that taints devices.
    DeviceTaintRule(Arc<DeviceTaintRuleInput>),
}

/// A kind of object of dynamic resource allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names are the API's own")]
pub enum DraKind {
    ResourceSlice,
    ResourceClaim,
    ResourceClaimTemplate,
    DeviceClass,
    DeviceTaintRule,
}

impl DraInput {
    /// Kind, namespace and name.
    #[must_use]
    pub fn key(&self) -> (DraKind, &str, &str) {
        match self {
            DraInput::ResourceSlice(it) => (DraKind::ResourceSlice, "", &it.name),
            DraInput::ResourceClaim(it) => (DraKind::ResourceClaim, &it.namespace, &it.name),
            DraInput::DeviceClass(it) => (DraKind::DeviceClass, "", &it.name),
            DraInput::DeviceTaintRule(it) => (DraKind::DeviceTaintRule, "", &it.name),
        }
    }
}

/// `spec.resourceClaims[]` of a pod, with what its status says of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodResourceClaimInput {
    /// `name`.
    pub name: String,
    /// Which claim it stands for.
    pub source: PodClaimSource,
}

/// Where a pod's claim comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PodClaimSource {
    /// `resourceClaimName`.
    Named(String),
    /// `resourceClaimTemplateName`, and the claim that was made of it as `status.resourceClaimStatuses`
    /// has it: not yet, intentionally none, or of this name.
    Template(GeneratedClaim),
    /// Neither is set.
    Unknown,
}

/// The claim made of a template for a pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GeneratedClaim {
    /// Not made yet.
    Pending,
    /// None was needed.
    NotNeeded,
    /// Of this name.
    Named(String),
}

/// What tells a pod from others like it, of pods whose claims are theirs alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PodIdentityInput {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
}
