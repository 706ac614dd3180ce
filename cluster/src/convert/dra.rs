//! Devices, classes of them, claims for them and rules that taint them.
//!
//! Read from the objects' JSON as they stand: no other part of the program has a use for their types.
//! Fields behind feature gates that are off are not read.

use std::collections::BTreeMap;
use std::sync::Arc;

use schedlab_cel::selector;
use schedlab_core::input::dra::{
    AllocatedDeviceStatusInput, AllocationConfigInput, AllocationInput, CapacityRangeInput,
    CapacityRequestPolicyInput, CounterConsumptionInput, CounterSetInput, DeviceAllocationMode,
    DeviceAttributeInput, DeviceCapacityInput, DeviceClassInput, DeviceConfigInput, DeviceConstraintInput,
    DeviceInput, DeviceKey, DeviceRequestInput, DeviceResultInput, DeviceTaintInput, DeviceTaintRuleInput,
    DeviceTolerationInput, DraInput, DraKind, ExactDeviceRequestInput, NodeReachInput, Quantities,
    ResourceClaimInput, ResourceSliceInput, SelectorInput,
};
use schedlab_core::input::{NodeSelectorTermInput, RequirementInput};
use schedlab_core::quantity::Quantity;
use schedlab_core::scheduler::ObjectKind;
use serde_json::Value;

use super::ConvertError;
use super::json::JsonPart;
use crate::api::GenericObject;

type Converted<T> = Result<T, ConvertError>;

/// Annotation of claims that the scheduler makes for extended resources.
/// Upstream: api/resource/v1 `ExtendedResourceClaimAnnotation`.
pub const EXTENDED_RESOURCE_CLAIM: &str = "resource.kubernetes.io/extended-resource-claim";

/// What scheduling reads from an object of `resource.k8s.io`; `None` for one of another kind, or of which
/// nothing is read.
pub fn dra_input(object: &GenericObject) -> Result<Option<DraInput>, ConvertError> {
    let Some(ObjectKind::Dra(kind)) = ObjectKind::of(&object.api_version, &object.kind) else {
        return Ok(None);
    };
    let name = object.metadata.name.clone().unwrap_or_default();
    let label = format!("{} {name}", object.kind.to_lowercase());
    let body = Value::Object(object.body.clone());
    let body = JsonPart::new(&label, &body);
    Ok(Some(match kind {
        DraKind::ResourceSlice => DraInput::ResourceSlice(Arc::new(slice(name, &body.at("spec"))?)),
        DraKind::ResourceClaim => DraInput::ResourceClaim(Arc::new(claim(object, &body)?)),
        DraKind::ResourceClaimTemplate => return Ok(None),
        DraKind::DeviceClass => DraInput::DeviceClass(Arc::new(class(object, &body.at("spec"))?)),
        DraKind::DeviceTaintRule => {
            let spec = body.at("spec");
            let of = spec.at("deviceSelector");
            DraInput::DeviceTaintRule(Arc::new(DeviceTaintRuleInput {
                name,
                driver: of.text("driver")?.map(str::to_owned),
                pool: of.text("pool")?.map(str::to_owned),
                device: of.text("device")?.map(str::to_owned),
                taint: taint(&spec.at("taint"))?,
            }))
        }
    }))
}

fn slice(name: String, spec: &JsonPart<'_>) -> Converted<ResourceSliceInput> {
    let pool = spec.at("pool");
    Ok(ResourceSliceInput {
        name,
        driver: spec.word("driver")?,
        pool: pool.word("name")?,
        generation: pool.int("generation")?.unwrap_or(0),
        slice_count: pool.int("resourceSliceCount")?.unwrap_or(0),
        reach: reach(spec)?,
        per_device_node_selection: spec.flag("perDeviceNodeSelection")?,
        shared_counters: spec.each("sharedCounters", |set| {
            Ok(CounterSetInput { name: set.word("name")?, counters: counters(&set.at("counters"))? })
        })?,
        devices: spec.each("devices", device)?,
    })
}

fn reach(of: &JsonPart<'_>) -> Converted<NodeReachInput> {
    Ok(NodeReachInput {
        node_name: of.text("nodeName")?.map(str::to_owned),
        node_selector: node_selector(&of.at("nodeSelector"))?,
        all_nodes: of.flag("allNodes")?,
    })
}

fn node_selector(of: &JsonPart<'_>) -> Converted<Option<Vec<NodeSelectorTermInput>>> {
    if of.is_absent() {
        return Ok(None);
    }
    let requirement = |it: &JsonPart<'_>| {
        Ok(RequirementInput {
            key: it.string("key")?,
            operator: it.string("operator")?,
            values: it.texts("values")?.unwrap_or_default(),
        })
    };
    let terms = of.each("nodeSelectorTerms", |term| {
        Ok(NodeSelectorTermInput {
            match_expressions: term.each("matchExpressions", requirement)?,
            match_fields: term.each("matchFields", requirement)?,
        })
    })?;
    Ok(Some(terms))
}

/// `{name: {value: quantity}}`.
fn counters(of: &JsonPart<'_>) -> Converted<Quantities> {
    of.entries(|counter| counter.quantity("value").map(Option::unwrap_or_default))
}

/// `{name: quantity}`.
fn quantities(of: &JsonPart<'_>) -> Converted<Quantities> {
    of.entries(|amount| amount.as_quantity())
}

fn device(of: &JsonPart<'_>) -> Converted<DeviceInput> {
    Ok(DeviceInput {
        name: of.word("name")?,
        attributes: of.at("attributes").entries(attribute)?,
        capacity: of.at("capacity").entries(capacity)?,
        consumes_counters: of.each("consumesCounters", |it| {
            Ok(CounterConsumptionInput {
                counter_set: it.word("counterSet")?,
                counters: counters(&it.at("counters"))?,
                has_compatibility_groups: it.texts("compatibilityGroups")?.is_some_and(|it| !it.is_empty()),
            })
        })?,
        reach: reach(of)?,
        taints: of.each("taints", taint)?,
        binds_to_node: of.flag("bindsToNode")?,
        binding_conditions: of.texts("bindingConditions")?,
        binding_failure_conditions: of.texts("bindingFailureConditions")?,
        allow_multiple_allocations: of.flag("allowMultipleAllocations")?,
    })
}

fn attribute(of: &JsonPart<'_>) -> Converted<DeviceAttributeInput> {
    Ok(if let Some(it) = of.int("int")? {
        DeviceAttributeInput::Int(it)
    } else if let Some(it) = of.truth("bool")? {
        DeviceAttributeInput::Bool(it)
    } else if let Some(it) = of.text("string")? {
        DeviceAttributeInput::String(it.into())
    } else if let Some(it) = of.text("version")? {
        DeviceAttributeInput::Version(it.into())
    } else {
        DeviceAttributeInput::Unknown
    })
}

fn capacity(of: &JsonPart<'_>) -> Converted<DeviceCapacityInput> {
    let policy = of.at("requestPolicy");
    let range = policy.at("validRange");
    let valid_range = CapacityRangeInput {
        min: range.quantity("min")?,
        max: range.quantity("max")?,
        step: range.quantity("step")?,
    };
    let request_policy = CapacityRequestPolicyInput {
        default: policy.quantity("default")?,
        valid_values: match policy.at("validValues").is_absent() {
            true => None,
            false => Some(policy.each("validValues", |it| it.as_quantity())?),
        },
        valid_range: (!range.is_absent()).then_some(valid_range),
    };
    Ok(DeviceCapacityInput {
        value: of.quantity("value")?.unwrap_or_default(),
        request_policy: (!policy.is_absent()).then_some(request_policy),
    })
}

fn taint(of: &JsonPart<'_>) -> Converted<DeviceTaintInput> {
    Ok(DeviceTaintInput { key: of.string("key")?, value: of.string("value")?, effect: of.string("effect")? })
}

fn toleration(of: &JsonPart<'_>) -> Converted<DeviceTolerationInput> {
    Ok(DeviceTolerationInput {
        key: of.string("key")?,
        operator: of.string("operator")?,
        value: of.string("value")?,
        effect: of.string("effect")?,
        seconds: of.int("tolerationSeconds")?,
    })
}

fn selectors(of: &JsonPart<'_>) -> Converted<Vec<SelectorInput>> {
    of.each("selectors", |it| Ok(selector(it.at("cel").text("expression")?.unwrap_or_default())))
}

/// Everything of an entry but the requests it is for, as text: it only travels through.
fn body(of: &JsonPart<'_>) -> Arc<str> {
    let mut body = of.value().cloned().unwrap_or_default();
    if let Value::Object(fields) = &mut body {
        fields.remove("requests");
        fields.remove("source");
    }
    body.to_string().into()
}

fn class(object: &GenericObject, spec: &JsonPart<'_>) -> Converted<DeviceClassInput> {
    let metadata = &object.metadata;
    Ok(DeviceClassInput {
        name: metadata.name.clone().unwrap_or_default().into(),
        created_s: metadata.creation_timestamp.as_ref().map_or(0, |time| time.0.as_second()),
        selectors: selectors(spec)?,
        config: spec.each("config", |it| Ok(body(it)))?,
        extended_resource_name: spec.text("extendedResourceName")?.map(str::to_owned),
    })
}

fn claim(object: &GenericObject, all: &JsonPart<'_>) -> Converted<ResourceClaimInput> {
    let metadata = &object.metadata;
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    let controller = owners.iter().find(|owner| owner.controller == Some(true));
    let annotation = metadata.annotations.as_ref().and_then(|all| all.get(EXTENDED_RESOURCE_CLAIM));
    let (devices, status) = (all.at("spec").at("devices"), all.at("status"));
    let allocation = status.at("allocation");
    Ok(ResourceClaimInput {
        namespace: metadata.namespace.clone().unwrap_or_else(|| "default".to_owned()),
        name: metadata.name.clone().unwrap_or_default(),
        uid: metadata.uid.clone().unwrap_or_default(),
        is_deleting: metadata.deletion_timestamp.is_some(),
        controller: controller.map(|owner| (owner.name.clone(), owner.uid.clone())),
        is_for_extended_resources: annotation.is_some_and(|it| it == "true"),
        requests: devices.each("requests", request)?,
        constraints: devices.each("constraints", |it| {
            Ok(DeviceConstraintInput {
                requests: it.texts("requests")?.unwrap_or_default(),
                match_attribute: it.text("matchAttribute")?.map(str::to_owned),
                distinct_attribute: it.text("distinctAttribute")?.map(str::to_owned),
            })
        })?,
        config: devices.each("config", |it| {
            Ok(DeviceConfigInput { requests: it.texts("requests")?.unwrap_or_default(), body: body(it) })
        })?,
        allocation: match allocation.is_absent() {
            true => None,
            false => Some(Arc::new(allocation_input(&allocation)?)),
        },
        reserved_for: status.each("reservedFor", |it| it.string("uid"))?,
        devices: status.each("devices", device_status)?,
    })
}

fn request(of: &JsonPart<'_>) -> Converted<DeviceRequestInput> {
    let exact = of.at("exactly");
    Ok(DeviceRequestInput {
        name: of.word("name")?,
        exactly: match exact.is_absent() {
            true => None,
            false => Some(exactly(&exact)?),
        },
        first_available: of.each("firstAvailable", |it| Ok((it.word("name")?, exactly(it)?)))?,
    })
}

fn exactly(of: &JsonPart<'_>) -> Converted<ExactDeviceRequestInput> {
    Ok(ExactDeviceRequestInput {
        device_class_name: of.word("deviceClassName")?,
        selectors: selectors(of)?,
        // The API server fills in what is left out.
        mode: match of.text("allocationMode")? {
            None | Some("" | "ExactCount") => {
                DeviceAllocationMode::ExactCount(of.int("count")?.filter(|&count| count != 0).unwrap_or(1))
            }
            Some("All") => DeviceAllocationMode::All,
            Some(_) => DeviceAllocationMode::Unknown,
        },
        admin_access: of.flag("adminAccess")?,
        tolerations: of.each("tolerations", toleration)?,
        capacity: quantities(&of.at("capacity").at("requests"))?,
    })
}

fn device_key(of: &JsonPart<'_>) -> Converted<DeviceKey> {
    Ok(DeviceKey { driver: of.word("driver")?, pool: of.word("pool")?, device: of.word("device")? })
}

/// What `status.allocation` of a claim says.
pub fn allocation_input(of: &JsonPart<'_>) -> Result<AllocationInput, ConvertError> {
    let devices = of.at("devices");
    Ok(AllocationInput {
        results: devices.each("results", |it| {
            let consumed = it.at("consumedCapacity");
            Ok(DeviceResultInput {
                request: it.string("request")?,
                device: device_key(it)?,
                admin_access: it.flag("adminAccess")?,
                tolerations: it.each("tolerations", toleration)?,
                share_id: it.text("shareID")?.map(Into::into),
                consumed_capacity: match consumed.is_absent() {
                    true => None,
                    false => Some(quantities(&consumed)?),
                },
                binding_conditions: it.texts("bindingConditions")?,
                binding_failure_conditions: it.texts("bindingFailureConditions")?,
            })
        })?,
        config: devices.each("config", |it| {
            Ok(AllocationConfigInput {
                is_from_class: it.text("source")? == Some("FromClass"),
                requests: it.texts("requests")?.unwrap_or_default(),
                body: body(it),
            })
        })?,
        node_selector: node_selector(&of.at("nodeSelector"))?,
        has_timestamp: of.text("allocationTimestamp")?.is_some(),
    })
}

fn device_status(of: &JsonPart<'_>) -> Converted<AllocatedDeviceStatusInput> {
    Ok(AllocatedDeviceStatusInput {
        device: device_key(of)?,
        conditions: of
            .each("conditions", |it| Ok((it.string("type")?, it.text("status")? == Some("True"))))?,
    })
}

/// By name, as the engine has it.
pub(super) type ByName<T> = BTreeMap<Arc<str>, T>;

/// A quantity as JSON has it: a text, or a number.
pub(super) fn quantity_of(value: &Value) -> Option<Result<Quantity, schedlab_core::quantity::QuantityError>> {
    match value {
        Value::String(text) => Some(Quantity::parse(text)),
        Value::Number(number) => Some(Quantity::parse(&number.to_string())),
        _ => None,
    }
}
