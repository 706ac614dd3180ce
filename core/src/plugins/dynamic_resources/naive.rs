//! DynamicResources: claims get devices, or the node is out.
//!
//! The plain allocator writes down every way of giving one device after the other, in order, and asks of
//! each beginning, from scratch, whether it is possible. The first that is complete is taken.
//!
//! Not here: extended resources that devices stand for, errors, rounding by request policies; those have
//! tables of their own.
//!
//! Upstream: plugins/dynamicresources, dynamic-resource-allocation/structured.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::NAME;
use crate::dra::node::DraNode;
use crate::fake::{self, Feature};
use crate::framework::args::PluginArgs;
use crate::input::dra::{
    AllocationInput, DeviceAllocationMode, DeviceInput, DraInput, ExactDeviceRequestInput, GeneratedClaim,
    PodClaimSource, ResourceClaimInput, ResourceSliceInput, SelectedDevice,
};
use crate::input::{NodeInput, NodeSelectorTermInput, PodInput};
use crate::naive::bench::{BenchPod, plain, using};
use crate::naive::dra::NaiveDra;
use crate::naive::plugin_twin::{
    Fakes, FilterTwin, NaivePreScore, PluginTwin, ScoreTwin, always_score, any_node, no_counts,
};
use crate::naive::{NODE_SCORE_MAX, NaiveCluster, NaiveCode, NaiveNode, NaivePreFilter, NaiveVerdict};
use crate::quantity::Quantity;

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

/// The twin.
pub(super) const TWIN: PluginTwin = PluginTwin {
    filter: Some(FilterTwin {
        pre_filter: |asked| pre_filter(asked.cluster, asked.pod),
        count: no_counts,
        filter: |asked, _, node| filter(asked.cluster, asked.pod, node),
        benches: || vec![BenchPod::new("dynamic_resources/no_claims", plain()).keeping(100..101)],
    }),
    score: Some(ScoreTwin {
        pre_score: always_score,
        score: |asked, _, node| score(asked.cluster, asked.pod, node),
        normalize,
        // What the allocator found in Filter is there: Score looks at which alternatives it took.
        benches: || vec![BenchPod::new("dynamic_resources/first_available", using("first-available"))],
    }),
    fakes: Fakes {
        node: |_, _| {},
        pod: |_, _| {},
        pending_pod: |rng, pod| {
            if rng.uses(Feature::Devices) {
                fake::add_resource_claims(rng, pod);
            }
        },
        args: |_| PluginArgs::none(),
    },
    bench_node: any_node,
};

fn rejection(reason: impl Into<String>) -> NaiveVerdict {
    NaiveVerdict::new(NAME, NaiveCode::UnschedulableAndUnresolvable, reason)
}

/// The pod's claims, or why no node can have it.
fn claims_of<'a>(cluster: &'a NaiveCluster, pod: &PodInput) -> Result<Vec<&'a ResourceClaimInput>, String> {
    let mut claims = Vec::new();
    let identity = pod.identity.clone().unwrap_or_default();
    for entry in &pod.resource_claims {
        let (name, is_owned) = match &entry.source {
            PodClaimSource::Named(name) => (name, false),
            PodClaimSource::Template(GeneratedClaim::Named(name)) => (name, true),
            PodClaimSource::Template(GeneratedClaim::NotNeeded) => continue,
            PodClaimSource::Template(GeneratedClaim::Pending) => {
                return Err(format!(
                    "pod \"{}/{}\": ResourceClaim not created yet",
                    pod.namespace, identity.name
                ));
            }
            PodClaimSource::Unknown => return Err("none of the supported fields are set".to_owned()),
        };
        let of_name = |claim: &&ResourceClaimInput| claim.namespace == pod.namespace && claim.name == *name;
        let claim = cluster.dra.claims().find(of_name);
        let claim =
            claim.ok_or_else(|| format!("could not find ResourceClaim \"{}/{name}\"", pod.namespace))?;
        if claim.is_deleting {
            return Err(format!("resourceclaim \"{name}\" is being deleted"));
        }
        if is_owned && claim.controller.as_ref().is_none_or(|(_, uid)| *uid != identity.uid) {
            let pod = format!("{}/{}", pod.namespace, identity.name);
            let claim = format!("{}/{name}", claim.namespace);
            return Err(format!("ResourceClaim {claim} was not created for Pod {pod} (Pod is not owner)"));
        }
        claims.push(claim);
    }
    for claim in claims.iter().filter(|claim| claim.allocation.is_none()) {
        for request in &claim.requests {
            for (full, exactly) in alternatives(request) {
                if cluster.dra.class(&exactly.device_class_name).is_none() {
                    let class = &exactly.device_class_name;
                    return Err(format!("request {full}: device class {class} does not exist"));
                }
            }
        }
    }
    Ok(claims)
}

/// The alternatives of a request, each with its full name.
fn alternatives(request: &crate::input::dra::DeviceRequestInput) -> Vec<(String, &ExactDeviceRequestInput)> {
    match &request.exactly {
        Some(exactly) => vec![(request.name.to_string(), exactly)],
        None => {
            let full = |name: &str| format!("{}/{name}", request.name);
            request.first_available.iter().map(|(name, it)| (full(name), it)).collect()
        }
    }
}

/// Pods without claims are not looked at.
#[must_use]
pub fn pre_filter(cluster: &NaiveCluster, pod: &PodInput) -> NaivePreFilter {
    match claims_of(cluster, pod) {
        Err(why) => NaivePreFilter::Reject(rejection(why)),
        Ok(claims) if claims.is_empty() => NaivePreFilter::Skip,
        Ok(_) => NaivePreFilter::AllNodes,
    }
}

/// Rejects a node that devices are not found for, or that claims with devices are not for.
#[must_use]
pub fn filter(cluster: &NaiveCluster, pod: &PodInput, node: &NaiveNode) -> Option<NaiveVerdict> {
    let claims = match claims_of(cluster, pod) {
        Err(why) => return Some(rejection(why)),
        Ok(claims) => claims,
    };
    if let Err(why) = allocate(&cluster.dra, &node.input, &open(&claims)) {
        return Some(rejection(why));
    }
    let is_for_node = |allocation: &AllocationInput| {
        allocation.node_selector.as_ref().is_none_or(|terms| selects(terms, &node.input))
    };
    let allocations = claims.iter().filter_map(|claim| claim.allocation.as_deref());
    let fits = allocations.into_iter().all(is_for_node);
    (!fits).then(|| rejection("resourceclaim not available on the node"))
}

fn open<'a>(claims: &[&'a ResourceClaimInput]) -> Vec<&'a ResourceClaimInput> {
    claims.iter().copied().filter(|claim| claim.allocation.is_none()).collect()
}

/// Eight less the place of each alternative that is taken.
#[must_use]
pub fn score(cluster: &NaiveCluster, pod: &PodInput, node: &NaiveNode) -> i64 {
    let claims = claims_of(cluster, pod).unwrap_or_default();
    let to_allocate = open(&claims);
    if to_allocate.is_empty() || filter(cluster, pod, node).is_some() {
        return 0;
    }
    let found = allocate(&cluster.dra, &node.input, &to_allocate).unwrap_or_default();
    let mut score = 0;
    for claim in &claims {
        let names: BTreeSet<String> = match &claim.allocation {
            Some(allocation) => allocation.results.iter().map(|result| result.request.clone()).collect(),
            None => {
                let of_claim = found.iter().filter(|taken| std::ptr::eq(to_allocate[taken.claim], *claim));
                of_claim.map(|taken| taken.full_name()).collect()
            }
        };
        for request in claim.requests.iter().filter(|request| request.exactly.is_none()) {
            for (at, (full, _)) in (0..).zip(alternatives(request)) {
                score += if names.contains(&full) { 8 - at } else { 0 };
            }
        }
    }
    score
}

fn normalize(_: &NaivePreScore, _: &[&str], raw: &[i64]) -> Vec<i64> {
    match raw.iter().copied().max() {
        Some(highest) if highest > 0 => raw.iter().map(|it| NODE_SCORE_MAX * it / highest).collect(),
        _ => raw.to_vec(),
    }
}

struct Node<'a>(&'a NodeInput);

impl DraNode for Node<'_> {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.0.labels.get(key).map(String::as_str)
    }
}

fn selects(terms: &[NodeSelectorTermInput], node: &NodeInput) -> bool {
    crate::dra::node::selects(terms, &Node(node))
}

/// A device that a node can reach, in the order of the search.
#[derive(Clone, Debug)]
struct Candidate<'a> {
    slice: &'a ResourceSliceInput,
    device: &'a DeviceInput,
    /// Those of rules included.
    taints: Vec<crate::input::dra::DeviceTaintInput>,
}

impl Candidate<'_> {
    fn id(&self) -> (Arc<str>, Arc<str>, Arc<str>) {
        (Arc::clone(&self.slice.driver), Arc::clone(&self.slice.pool), Arc::clone(&self.device.name))
    }
}

/// A device that is given to a request.
#[derive(Clone, Debug)]
pub(crate) struct Taken<'a> {
    pub(crate) claim: usize,
    request: usize,
    device: usize,
    names: (&'a str, Option<&'a str>),
    asked: &'a ExactDeviceRequestInput,
}

impl Taken<'_> {
    pub(crate) fn full_name(&self) -> String {
        match self.names.1 {
            Some(alternative) => format!("{}/{alternative}", self.names.0),
            None => self.names.0.to_owned(),
        }
    }
}

/// Everything that is known while devices are given out.
struct Problem<'a> {
    dra: &'a NaiveDra,
    node: &'a NodeInput,
    claims: &'a [&'a ResourceClaimInput],
    devices: Vec<Candidate<'a>>,
}

/// The first way of giving devices of a node to claims, or why there is none.
pub(crate) fn allocate<'a>(
    dra: &'a NaiveDra,
    node: &'a NodeInput,
    claims: &'a [&'a ResourceClaimInput],
) -> Result<Vec<Taken<'a>>, String> {
    let (devices, has_invalid) = candidates(dra, node);
    let problem = Problem { dra, node, claims, devices };
    let mut taken = Vec::new();
    match problem.go_on(0, 0, &mut taken) {
        true => Ok(taken),
        false if has_invalid => Err("invalid resource pools were encountered".to_owned()),
        false => Err("cannot allocate all claims".to_owned()),
    }
}

/// The devices in order, of pools that are complete and valid; and whether a pool is not valid.
fn candidates<'a>(dra: &'a NaiveDra, node: &NodeInput) -> (Vec<Candidate<'a>>, bool) {
    let is_near = |slice: &ResourceSliceInput| {
        let mut reaches = slice.devices.iter().map(|device| &device.reach);
        if slice.per_device_node_selection && slice.reach.is_silent() {
            reaches.any(|reach| reach.includes(&Node(node)))
        } else {
            slice.reach.includes(&Node(node))
        }
    };
    let ids: BTreeSet<(&str, &str)> = dra.slices().map(|it| (&*it.driver, &*it.pool)).collect();
    let mut pools: Vec<(bool, Vec<&ResourceSliceInput>)> = Vec::new();
    let mut has_invalid = false;
    for (driver, pool) in ids {
        let all: Vec<_> = dra.slices().filter(|it| (&*it.driver, &*it.pool) == (driver, pool)).collect();
        let near: Vec<_> = all.iter().copied().filter(|it| is_near(it)).collect();
        let Some(generation) = near.iter().map(|it| it.generation).max() else { continue };
        let near: Vec<_> = near.into_iter().filter(|it| it.generation == generation).collect();
        let wanted = near[0].slice_count as usize;
        let of_generation: Vec<_> = match near.len() == wanted {
            true => near.clone(),
            false if all.iter().any(|it| it.generation > generation) => continue,
            false => all.into_iter().filter(|it| it.generation == generation).collect(),
        };
        if of_generation.len() != wanted {
            continue;
        }
        if !is_valid(&near, &of_generation) {
            has_invalid = true;
            continue;
        }
        let mut with_devices: Vec<_> = near.into_iter().filter(|it| it.shared_counters.is_empty()).collect();
        with_devices.sort_by(|one, other| one.name.cmp(&other.name));
        let mut devices = with_devices.iter().flat_map(|it| &it.devices);
        pools.push((devices.any(|device| device.binding_conditions.is_some()), with_devices));
    }
    pools.sort_by_key(|(has_conditions, _)| *has_conditions);
    let slices = pools.into_iter().flat_map(|(_, slices)| slices);
    let devices = slices.flat_map(|slice| {
        slice.devices.iter().map(move |device| {
            let mut taints = device.taints.clone();
            for rule in dra.objects.iter() {
                let DraInput::DeviceTaintRule(rule) = rule else { continue };
                let is =
                    |wanted: &Option<String>, it: &str| wanted.as_ref().is_none_or(|wanted| wanted == it);
                if is(&rule.driver, &slice.driver)
                    && is(&rule.pool, &slice.pool)
                    && is(&rule.device, &device.name)
                {
                    taints.push(rule.taint.clone());
                }
            }
            Candidate { slice, device, taints }
        })
    });
    (devices.collect(), has_invalid)
}

fn is_valid(near: &[&ResourceSliceInput], all: &[&ResourceSliceInput]) -> bool {
    let with_devices = near.iter().filter(|it| it.shared_counters.is_empty());
    let names: Vec<&Arc<str>> = with_devices.flat_map(|it| &it.devices).map(|it| &it.name).collect();
    let distinct: BTreeSet<&Arc<str>> = names.iter().copied().collect();
    let sets: Vec<_> = all.iter().flat_map(|it| &it.shared_counters).collect();
    let set_names: BTreeSet<&Arc<str>> = sets.iter().map(|it| &it.name).collect();
    let devices = all.iter().filter(|it| it.shared_counters.is_empty()).flat_map(|it| &it.devices);
    let mut consumed = devices.flat_map(|it| &it.consumes_counters);
    let is_known = |it: &crate::input::dra::CounterConsumptionInput| {
        let set = sets.iter().find(|set| set.name == it.counter_set);
        set.is_some_and(|set| it.counters.keys().all(|name| set.counters.contains_key(name)))
    };
    names.len() == distinct.len() && sets.len() == set_names.len() && consumed.all(is_known)
}

impl<'a> Problem<'a> {
    /// Gives devices to the requests from this one on.
    fn go_on(&self, claim: usize, request: usize, taken: &mut Vec<Taken<'a>>) -> bool {
        let Some(of_claim) = self.claims.get(claim) else { return true };
        let Some(input) = of_claim.requests.get(request) else { return self.go_on(claim + 1, 0, taken) };
        let base: &'a str = &input.name;
        let options: Vec<(Option<&'a str>, &'a ExactDeviceRequestInput)> = match &input.exactly {
            Some(exactly) => vec![(None, exactly)],
            None => input.first_available.iter().map(|(name, it)| (Some(&**name), it)).collect(),
        };
        for (name, asked) in options {
            let next = Taken { claim, request, device: 0, names: (base, name), asked };
            let before = taken.len();
            let done = match asked.mode {
                DeviceAllocationMode::ExactCount(count) => self.some(&next, count, 0, taken),
                _ => self.all(&next, taken),
            };
            if done {
                return true;
            }
            taken.truncate(before);
        }
        false
    }

    /// So many more devices, none of them before `start`.
    fn some(&self, next: &Taken<'a>, count: i64, start: usize, taken: &mut Vec<Taken<'a>>) -> bool {
        if count == 0 {
            return self.go_on(next.claim, next.request + 1, taken);
        }
        for device in start..self.devices.len() {
            taken.push(Taken { device, ..next.clone() });
            if self.is_possible(taken) && self.some(next, count - 1, device + 1, taken) {
                return true;
            }
            taken.pop();
        }
        false
    }

    /// Every device that is selected, if that is any.
    fn all(&self, next: &Taken<'a>, taken: &mut Vec<Taken<'a>>) -> bool {
        let before = taken.len();
        for device in 0..self.devices.len() {
            let candidate = &self.devices[device];
            if self.is_selected(next.asked, candidate) && self.fits_capacity(next.asked, candidate, &[]) {
                taken.push(Taken { device, ..next.clone() });
            }
        }
        taken.len() > before && self.is_possible(taken) && self.go_on(next.claim, next.request + 1, taken)
    }

    fn is_selected(&self, asked: &ExactDeviceRequestInput, it: &Candidate<'_>) -> bool {
        let class = self.dra.class(&asked.device_class_name).expect("PreFilter looked");
        let device = SelectedDevice {
            driver: &it.slice.driver,
            allow_multiple_allocations: it.device.allow_multiple_allocations,
            attributes: &it.device.attributes,
            capacity: &it.device.capacity,
        };
        let mut selectors = class.selectors.iter().chain(&asked.selectors);
        selectors.all(|selector| selector.program.matches(device) == Ok(true))
            && (!it.slice.per_device_node_selection || it.device.reach.includes(&Node(self.node)))
    }

    /// What a request takes of a device, by capacity.
    fn consumed(asked: &ExactDeviceRequestInput, device: &DeviceInput) -> BTreeMap<Arc<str>, Quantity> {
        let of = |(name, capacity): (&Arc<str>, &crate::input::dra::DeviceCapacityInput)| {
            let default = capacity.request_policy.as_ref().and_then(|policy| policy.default);
            let amount = asked.capacity.get(name).copied().or(default).unwrap_or(capacity.value);
            (Arc::clone(name), amount)
        };
        device.capacity.iter().map(of).collect()
    }

    /// The request, the claims there are and these others leave no capacity below nothing.
    fn fits_capacity(
        &self,
        asked: &ExactDeviceRequestInput,
        it: &Candidate<'_>,
        others: &[&Taken<'_>],
    ) -> bool {
        if asked.capacity.keys().any(|name| !it.device.capacity.contains_key(name)) {
            return false;
        }
        let mut sums = Self::consumed(asked, it.device);
        for other in others {
            for (name, amount) in Self::consumed(other.asked, it.device) {
                *sums.entry(name).or_default() += amount;
            }
        }
        sums.iter().all(|(name, sum)| *sum <= it.device.capacity[name].value)
    }

    /// Whether these devices can be given out together, the last included.
    fn is_possible(&self, taken: &[Taken<'_>]) -> bool {
        (0..taken.len()).all(|at| self.is_device_possible(&taken[..=at]))
            && self.counters_suffice(taken)
            && self.constraints_hold(taken)
            && (0..self.claims.len()).all(|claim| taken.iter().filter(|it| it.claim == claim).count() <= 32)
    }

    /// Whether the last of these devices can be given to its request, the others being given out.
    fn is_device_possible(&self, taken: &[Taken<'_>]) -> bool {
        let (last, before) = taken.split_last().expect("there is one");
        let candidate = &self.devices[last.device];
        let is_shared = candidate.device.allow_multiple_allocations;
        let others: Vec<&Taken<'_>> = before.iter().filter(|it| it.device == last.device).collect();
        let is_same = |result: &&crate::input::dra::DeviceResultInput| {
            let key = &result.device;
            (Arc::clone(&key.driver), Arc::clone(&key.pool), Arc::clone(&key.device)) == candidate.id()
        };
        let in_use: Vec<_> = self.dra.in_use().filter(is_same).collect();
        let admin = last.asked.admin_access;
        let is_free = match (admin, is_shared) {
            (true, false) => others.iter().all(|it| it.claim != last.claim),
            (false, false) => others.is_empty(),
            (_, true) => true,
        };
        let is_exclusively_used = in_use.iter().any(|result| result.share_id.is_none());
        if !is_free || !admin && is_exclusively_used || !self.is_selected(last.asked, candidate) {
            return false;
        }
        let tolerates = |taint: &crate::input::dra::DeviceTaintInput| {
            !matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute")
                || last.asked.tolerations.iter().any(|it| {
                    (it.key.is_empty() || it.key == taint.key)
                        && (it.effect.is_empty() || it.effect == taint.effect)
                        && (it.operator == "Exists" || it.value == taint.value)
                })
        };
        if !candidate.taints.iter().all(tolerates) {
            return false;
        }
        let of_search: &[&Taken<'_>] = if is_shared { &others } else { &[] };
        let mut room = candidate.clone();
        let mut device = room.device.clone();
        for (name, amount) in in_use.iter().filter_map(|it| it.consumed_capacity.as_ref()).flatten() {
            if let Some(capacity) = device.capacity.get_mut(name) {
                // The defaults of requests are what they were.
                let value = capacity.value;
                let policy = capacity.request_policy.get_or_insert_with(Default::default);
                policy.default.get_or_insert(value);
                capacity.value -= *amount;
            }
        }
        room.device = &device;
        self.fits_capacity(last.asked, &room, of_search)
    }

    /// The counters of every pool that a device is taken of are enough for all devices in use.
    fn counters_suffice(&self, taken: &[Taken<'_>]) -> bool {
        // Who holds a device that can be shared to itself has charged its counters, and the first share beside
        // it, which only an admin gets, charges them again.
        let has_share = |id: &(Arc<str>, Arc<str>, Arc<str>)| {
            self.dra.in_use().filter(|result| result.share_id.is_some()).any(|result| {
                let key = &result.device;
                (&key.driver, &key.pool, &key.device) == (&id.0, &id.1, &id.2)
            })
        };
        let is_charged = |it: &Candidate<'_>| it.device.allow_multiple_allocations && has_share(&it.id());
        let devices = taken.iter().map(|it| &self.devices[it.device]);
        devices.filter(|it| !it.device.consumes_counters.is_empty() && !is_charged(it)).all(|candidate| {
            let slice = candidate.slice;
            let is_pool = |it: &&ResourceSliceInput| {
                (&it.driver, &it.pool, it.generation) == (&slice.driver, &slice.pool, slice.generation)
            };
            let slices: Vec<_> = self.dra.slices().filter(is_pool).collect();
            let mut left: BTreeMap<(Arc<str>, Arc<str>), Quantity> = BTreeMap::new();
            for set in slices.iter().flat_map(|it| &it.shared_counters) {
                for (name, value) in &set.counters {
                    left.insert((Arc::clone(&set.name), Arc::clone(name)), *value);
                }
            }
            for device in slices.iter().flat_map(|it| &it.devices) {
                let id = (Arc::clone(&slice.driver), Arc::clone(&slice.pool), Arc::clone(&device.name));
                let is_used = self.dra.in_use().any(|it| {
                    let key = &it.device;
                    (&key.driver, &key.pool, &key.device) == (&id.0, &id.1, &id.2)
                });
                let times = taken.iter().filter(|it| self.devices[it.device].id() == id).count();
                // Shares are charged once; admins are charged beside whoever has the device.
                let charges = match device.allow_multiple_allocations {
                    true => usize::from(is_used) + usize::from(times > 0 && !has_share(&id)),
                    false => usize::from(is_used) + times,
                };
                for consumption in &device.consumes_counters {
                    for (name, amount) in &consumption.counters {
                        let key = (Arc::clone(&consumption.counter_set), Arc::clone(name));
                        for _ in 0..charges {
                            *left.entry(key.clone()).or_default() -= *amount;
                        }
                    }
                }
            }
            left.values().all(|left| *left >= Quantity::ZERO)
        })
    }

    fn constraints_hold(&self, taken: &[Taken<'_>]) -> bool {
        self.claims.iter().enumerate().all(|(claim, input)| {
            input.constraints.iter().all(|constraint| {
                let concerns = |it: &&Taken<'_>| {
                    let names = &constraint.requests;
                    let is_named = |name: &str| names.iter().any(|known| known == name);
                    it.claim == claim
                        && (names.is_empty() || is_named(it.names.0) || is_named(&it.full_name()))
                };
                let wanted = constraint.match_attribute.as_ref().or(constraint.distinct_attribute.as_ref());
                let wanted = wanted.expect("a constraint is about an attribute");
                let value = |it: &Taken<'_>| {
                    let Candidate { slice, device, .. } = &self.devices[it.device];
                    let short = wanted.strip_prefix(&*slice.driver).and_then(|rest| rest.strip_prefix('/'));
                    let found = device.attributes.get(wanted.as_str());
                    found.or_else(|| device.attributes.get(short?)).cloned()
                };
                let values: Vec<_> = taken.iter().filter(concerns).map(value).collect();
                let Some(values) = values.into_iter().collect::<Option<Vec<_>>>() else { return false };
                match constraint.match_attribute {
                    Some(_) => values.iter().all(|it| *it == values[0]),
                    None => (0..values.len()).all(|at| !values[..at].contains(&values[at])),
                }
            })
        })
    }
}
