//! Random devices, and pods with claims for them.
//!
//! No cluster here makes a cycle end with an error: `All` is asked for only without constraints, and only
//! where no pool can be incomplete.

use std::sync::Arc;

use super::{Feature, Rng, readable_term, word};
use crate::input::PodInput;
use crate::input::dra::{
    AllocationInput, CapacityRequestPolicyInput, CounterConsumptionInput, CounterSetInput,
    DeviceAllocationMode, DeviceAttributeInput, DeviceCapacityInput, DeviceClassInput, DeviceConstraintInput,
    DeviceInput, DeviceKey, DeviceRequestInput, DeviceResultInput, DeviceSelector, DeviceTaintInput,
    DeviceTaintRuleInput, DeviceTolerationInput, DraInput, ExactDeviceRequestInput, GeneratedClaim,
    NodeReachInput, PodClaimSource, PodIdentityInput, PodResourceClaimInput, Quantities, ResourceClaimInput,
    ResourceSliceInput, SelectedDevice, SelectorError, SelectorInput,
};
use crate::quantity::Quantity;

const DRIVERS: [&str; 2] = ["gpu", "nic"];
const CLASSES: [&str; 3] = ["any", "gpus", "fast"];
const CLAIMS: usize = 8;

/// Selects devices whose attribute has a value.
#[derive(Debug)]
struct HasAttribute {
    name: &'static str,
    value: i64,
}

impl DeviceSelector for HasAttribute {
    fn matches(&self, device: SelectedDevice<'_>) -> Result<bool, SelectorError> {
        Ok(device.attributes.get(self.name) == Some(&DeviceAttributeInput::Int(self.value)))
    }
}

fn selector(name: &'static str, value: i64) -> SelectorInput {
    SelectorInput {
        expression: format!("{name} == {value}").into(),
        program: Arc::new(HasAttribute { name, value }),
    }
}

fn amount(rng: &mut Rng, max: usize) -> Quantity {
    Quantity::from_units(rng.range(1..=max) as i64)
}

/// Slices, classes, claims and rules, or nothing. No claim asks for all devices: with objects of another
/// such list a pool may lack a slice.
pub fn dra(rng: &mut Rng) -> Vec<DraInput> {
    objects(rng, All::Never)
}

/// The same, with claims for all devices, for whoever changes nothing.
#[cfg(test)]
pub(crate) fn dra_with_all(rng: &mut Rng) -> Vec<DraInput> {
    objects(rng, All::WhereItMay)
}

/// Whether claims ask for all devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum All {
    Never,
    #[cfg_attr(not(test), allow(dead_code, reason = "for tests of the allocator"))]
    WhereItMay,
}

fn objects(rng: &mut Rng, all: All) -> Vec<DraInput> {
    let mut objects = Vec::new();
    if !rng.may_use(Feature::Devices) {
        return objects;
    }
    let may_break = rng.chance(30);
    for name in CLASSES {
        if rng.chance(95) {
            objects.push(DraInput::DeviceClass(Arc::new(class(name))));
        }
    }
    for (at, driver) in DRIVERS.into_iter().enumerate() {
        for node in 0..6 {
            if rng.chance(70) {
                let reach =
                    NodeReachInput { node_name: Some(format!("n{node}")), ..NodeReachInput::default() };
                add_pool(rng, &mut objects, (driver, &format!("pool-{node}")), &reach, may_break);
            }
        }
        if rng.chance(60) {
            let reach = match rng.chance(50) {
                true => NodeReachInput { all_nodes: true, ..NodeReachInput::default() },
                false => NodeReachInput {
                    node_selector: Some(vec![readable_term(rng)]),
                    ..NodeReachInput::default()
                },
            };
            add_pool(rng, &mut objects, (driver, &format!("shared-{at}")), &reach, may_break);
        }
    }
    if rng.chance(30) {
        let some = |rng: &mut Rng, of: &[&str]| rng.chance(50).then(|| word(rng, of));
        objects.push(DraInput::DeviceTaintRule(Arc::new(DeviceTaintRuleInput {
            name: "rule".to_owned(),
            driver: some(rng, &DRIVERS),
            pool: some(rng, &["pool-1", "shared-0"]),
            device: some(rng, &["d0", "d1"]),
            taint: taint(rng),
        })));
    }
    for index in 0..CLAIMS {
        if rng.chance(90) {
            objects.push(DraInput::ResourceClaim(Arc::new(claim(
                rng,
                index,
                all == All::WhereItMay && !may_break,
            ))));
        }
    }
    objects
}

fn class(name: &str) -> DeviceClassInput {
    let selectors = if name == "fast" { vec![selector("speed", 1)] } else { Vec::new() };
    DeviceClassInput { name: name.into(), selectors, ..DeviceClassInput::default() }
}

fn taint(rng: &mut Rng) -> DeviceTaintInput {
    DeviceTaintInput {
        key: word(rng, &["broken", "busy"]),
        value: word(rng, &["", "yes"]),
        effect: word(rng, &["NoSchedule", "NoExecute", "None"]),
    }
}

/// A pool of one to three slices, one of them with counters perhaps.
fn add_pool(
    rng: &mut Rng,
    objects: &mut Vec<DraInput>,
    (driver, pool): (&str, &str),
    reach: &NodeReachInput,
    may_break: bool,
) {
    let has_counters = rng.chance(40);
    let device_slices = rng.range(1..=2);
    let slice_count = (device_slices + usize::from(has_counters)) as i64;
    let mut slices = Vec::new();
    for at in 0..device_slices {
        let names = if may_break && rng.chance(10) { 0 } else { at * 3 };
        let per_device = rng.chance(15);
        let mut devices: Vec<DeviceInput> =
            (0..rng.range(1..=3)).map(|it| device(rng, names + it, has_counters)).collect();
        if per_device {
            devices.iter_mut().for_each(|device| device.reach = reach.clone());
        }
        slices.push(ResourceSliceInput {
            devices,
            per_device_node_selection: per_device,
            reach: if per_device { NodeReachInput::default() } else { reach.clone() },
            ..ResourceSliceInput::default()
        });
    }
    if has_counters {
        let counters = Quantities::from([("units".into(), amount(rng, 4))]);
        let set = CounterSetInput { name: "set".into(), counters };
        let shared_counters = vec![set];
        slices.push(ResourceSliceInput {
            shared_counters,
            reach: reach.clone(),
            ..ResourceSliceInput::default()
        });
    }
    for (at, mut slice) in slices.into_iter().enumerate() {
        if may_break && rng.chance(8) {
            continue;
        }
        slice.name = format!("{driver}-{pool}-{}", (at * 7 + pool.len()) % 5);
        (slice.driver, slice.pool) = (driver.into(), pool.into());
        slice.generation = if may_break && rng.chance(5) { 2 } else { 1 };
        slice.slice_count = slice_count;
        objects.push(DraInput::ResourceSlice(Arc::new(slice)));
    }
}

fn device(rng: &mut Rng, index: usize, has_counters: bool) -> DeviceInput {
    let mut device = DeviceInput { name: format!("d{index}").into(), ..DeviceInput::default() };
    for name in ["speed", "numa"] {
        if rng.chance(85) {
            device.attributes.insert(name.into(), DeviceAttributeInput::Int(rng.range(0..=1) as i64));
        }
    }
    device.allow_multiple_allocations = rng.chance(30);
    if rng.chance(60) {
        let default = rng.chance(50).then(|| amount(rng, 2));
        let request_policy = default
            .map(|default| CapacityRequestPolicyInput { default: Some(default), ..Default::default() });
        let capacity = DeviceCapacityInput { value: amount(rng, 6), request_policy };
        device.capacity.insert("memory".into(), capacity);
    }
    if has_counters && rng.chance(70) {
        let counters = Quantities::from([("units".into(), amount(rng, 2))]);
        device.consumes_counters.push(CounterConsumptionInput {
            counter_set: "set".into(),
            counters,
            has_compatibility_groups: false,
        });
    }
    if rng.chance(15) {
        device.taints.push(taint(rng));
    }
    if rng.chance(10) {
        device.binding_conditions = Some(vec!["Ready".to_owned()]);
    }
    device
}

fn exactly(rng: &mut Rng, may_take_all: bool) -> ExactDeviceRequestInput {
    let mut tolerations = Vec::new();
    if rng.chance(30) {
        tolerations.push(DeviceTolerationInput {
            key: word(rng, &["broken", "busy", ""]),
            operator: "Exists".to_owned(),
            ..DeviceTolerationInput::default()
        });
    }
    let mode = match may_take_all && rng.chance(15) {
        true => DeviceAllocationMode::All,
        false => DeviceAllocationMode::ExactCount(*rng.pick(&[1, 1, 1, 2, 2, 3])),
    };
    ExactDeviceRequestInput {
        device_class_name: (*rng.pick(&["any", "any", "gpus", "fast"])).into(),
        selectors: if rng.chance(25) { vec![selector("numa", rng.range(0..=1) as i64)] } else { Vec::new() },
        mode,
        admin_access: rng.chance(8),
        tolerations,
        capacity: match rng.chance(25) {
            true => Quantities::from([("memory".into(), amount(rng, 3))]),
            false => Quantities::new(),
        },
    }
}

fn claim(rng: &mut Rng, index: usize, may_take_all: bool) -> ResourceClaimInput {
    let has_constraint = rng.chance(30);
    let may_take_all = may_take_all && !has_constraint;
    let mut requests = Vec::new();
    for at in 0..rng.range(1..=2) {
        let name: Arc<str> = format!("r{at}").into();
        let has_alternatives = rng.chance(25);
        let exactly_one = (!has_alternatives).then(|| exactly(rng, may_take_all));
        let first_available = match has_alternatives {
            true => (0..rng.range(1..=3))
                .map(|it| (format!("a{it}").into(), exactly(rng, may_take_all)))
                .collect(),
            false => Vec::new(),
        };
        requests.push(DeviceRequestInput { name, exactly: exactly_one, first_available });
    }
    let mut constraints = Vec::new();
    if has_constraint {
        let attribute = Some(format!("{}/numa", rng.pick(&DRIVERS)));
        let [match_attribute, distinct_attribute] =
            if rng.chance(60) { [attribute, None] } else { [None, attribute] };
        let requests = if rng.chance(30) { vec!["r0".to_owned()] } else { Vec::new() };
        constraints.push(DeviceConstraintInput { requests, match_attribute, distinct_attribute });
    }
    let allocation = rng.chance(25).then(|| Arc::new(allocation(rng, index)));
    ResourceClaimInput {
        namespace: "default".to_owned(),
        name: format!("c{index}"),
        uid: format!("uid-{index}"),
        is_deleting: rng.chance(2),
        controller: rng.chance(30).then(|| ("pod".to_owned(), "pod-uid".to_owned())),
        requests,
        constraints,
        allocation,
        ..ResourceClaimInput::default()
    }
}

fn allocation(rng: &mut Rng, index: usize) -> AllocationInput {
    let is_shared = rng.chance(40);
    let consumed = is_shared.then(|| Quantities::from([("memory".into(), amount(rng, 2))]));
    let result = DeviceResultInput {
        request: "r0".to_owned(),
        device: DeviceKey {
            driver: (*rng.pick(&DRIVERS)).into(),
            pool: format!("pool-{}", rng.range(0..=5)).into(),
            // No two claims have the same device to themselves.
            device: if is_shared { "d0".into() } else { format!("d{}", index % 6).into() },
        },
        admin_access: rng.chance(10),
        tolerations: Vec::new(),
        share_id: is_shared.then(|| format!("share-{index}").into()),
        consumed_capacity: consumed,
        binding_conditions: None,
        binding_failure_conditions: None,
    };
    let node_selector = rng.chance(60).then(|| vec![readable_term(rng)]);
    AllocationInput { results: vec![result], node_selector, ..AllocationInput::default() }
}

/// Gives a pod one or two claims, which may or may not be there.
pub(crate) fn add_resource_claims(rng: &mut Rng, pod: &mut PodInput) {
    pod.namespace = "default".to_owned();
    pod.identity = Some(PodIdentityInput { name: "pod".to_owned(), uid: "pod-uid".to_owned() });
    for at in 0..rng.range(1..=2) {
        let name = format!("c{}", rng.range(0..=CLAIMS - 1));
        let source = match rng.range(0..=19) {
            0 => PodClaimSource::Template(GeneratedClaim::Pending),
            1 => PodClaimSource::Template(GeneratedClaim::NotNeeded),
            2 | 3 => PodClaimSource::Template(GeneratedClaim::Named(name)),
            _ => PodClaimSource::Named(name),
        };
        pod.resource_claims.push(PodResourceClaimInput { name: format!("claim-{at}"), source });
    }
}
