//! What a decision says of resource claims: devices by node, allocations and reservations, PreEnqueue and
//! PostFilter.

use std::collections::BTreeMap;

use schedlab_cluster::convert::{JsonPart, allocation_input};
use schedlab_core::dra::DeviceReservation;
use schedlab_core::ids::ClassId;
use schedlab_core::input::dra::AllocationInput;
use schedlab_core::plugins::dynamic_resources::{deallocation_candidates, decide_devices};

use super::compare::{Comparison, NOTHING, same_rejection, show_list, show_optional};
use super::document::{ClaimRecord, RejectionRecord, RequestMappingRecord};
use super::error::StepProblem;
use super::report::DifferenceKind;

/// What the claim for extended resources is called, whose name is drawn when it is written.
const EXTENDED: &str = "<extended-resources>";

/// What becomes of a claim, in comparable form.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fate {
    /// It gets this.
    Allocated(Box<AllocationInput>, Vec<RequestMappingRecord>),
    /// It gets the pod as another consumer.
    Reserved,
}

/// When an allocation was made, and the ids of shares, are not compared: only that there are some.
fn comparable(mut allocation: AllocationInput) -> AllocationInput {
    allocation.has_timestamp = false;
    for result in &mut allocation.results {
        result.share_id = result.share_id.as_ref().map(|_| "".into());
    }
    allocation
}

fn recorded_fate(record: &ClaimRecord) -> Result<Option<(String, Fate)>, StepProblem> {
    let name = match (record.extended, record.claim.split_once('/')) {
        (true, Some((namespace, _))) => format!("{namespace}/{EXTENDED}"),
        _ => record.claim.clone(),
    };
    let fate = match &record.allocation {
        Some(allocation) => {
            let label = format!("claim {}", record.claim);
            let allocation = comparable(allocation_input(&JsonPart::new(&label, allocation))?);
            Fate::Allocated(Box::new(allocation), record.request_mappings.clone())
        }
        None if record.already_reserved => return Ok(None),
        None => Fate::Reserved,
    };
    Ok(Some((name, fate)))
}

fn our_fates(ours: &DeviceReservation) -> BTreeMap<String, Fate> {
    let mut fates = BTreeMap::new();
    let last = ours.allocations.len().saturating_sub(1);
    for (at, pending) in ours.allocations.iter().enumerate() {
        let extended = ours.extended.as_ref().filter(|_| at == last);
        let mappings = extended.map(|it| &it.mappings).into_iter().flatten().map(|it| RequestMappingRecord {
            container_name: it.container_name.clone(),
            resource_name: it.resource_name.clone(),
            request_name: it.request_name.clone(),
        });
        let allocation = Box::new(comparable(pending.allocation.as_ref().clone()));
        let name = format!("{}/{}", pending.claim.namespace, pending.claim.name);
        fates.insert(name, Fate::Allocated(allocation, mappings.collect()));
    }
    for (namespace, name) in &ours.shared {
        fates.insert(format!("{namespace}/{name}"), Fate::Reserved);
    }
    fates
}

impl Comparison<'_> {
    fn row_of(&self, name: &str) -> Option<usize> {
        let nodes = self.world.nodes();
        nodes.row_of(nodes.find(self.world.vocabulary.symbols.get(name)?)?)
    }

    /// Compares what becomes of the pod's claims on the node that was recorded as chosen.
    pub(super) fn claims(&mut self, class: ClassId) -> Result<(), StepProblem> {
        let row = self.record.chosen.as_deref().and_then(|name| self.row_of(name));
        let Some(row) = row else { return Ok(()) };
        let recorded: Vec<Option<(String, Fate)>> =
            self.record.claims.iter().map(recorded_fate).collect::<Result<_, _>>()?;
        let recorded: BTreeMap<String, Fate> = recorded.into_iter().flatten().collect();
        let ours = decide_devices(self.world, self.world.class(class), row);
        let ours = ours.as_ref().map(our_fates).unwrap_or_default();
        let show = |fates: &BTreeMap<String, Fate>| {
            show_list(&fates.iter().map(|(name, fate)| format!("{name}: {fate:?}")).collect::<Vec<_>>())
        };
        self.check(|| DifferenceKind::Claims, recorded == ours, || (show(&recorded), show(&ours)));
        Ok(())
    }

    /// Compares the devices that claims would get on each feasible node.
    pub(super) fn devices(&mut self, class: ClassId) {
        let record = self.record;
        for node in record.nodes.iter().flatten().filter(|node| node.feasible) {
            let Some(row) = self.row_of(&node.name) else { continue };
            let ours = decide_devices(self.world, self.world.class(class), row).unwrap_or_default();
            let by_claim: BTreeMap<String, Vec<String>> = ours
                .allocations
                .iter()
                .filter(|pending| !pending.allocation.results.is_empty())
                .map(|pending| {
                    let device = pending.allocation.results.iter();
                    let devices = device.map(|it| format!("{}={}", it.request, it.device)).collect();
                    (pending.claim.name.clone(), devices)
                })
                .collect();
            let mut recorded = node.devices.clone();
            recorded.retain(|_, devices| !devices.is_empty());
            let show = |devices: &BTreeMap<String, Vec<String>>| {
                show_list(
                    &devices
                        .iter()
                        .map(|(claim, it)| format!("{claim}: {}", show_list(it)))
                        .collect::<Vec<_>>(),
                )
            };
            self.check(
                || DifferenceKind::Devices { node: node.name.clone() },
                recorded == by_claim,
                || (show(&recorded), show(&by_claim)),
            );
        }
    }

    /// Compares whether the pod would enter the queue.
    pub(super) fn pre_enqueue(&mut self, class: ClassId) {
        let (world, class) = (self.world, self.world.class(class));
        let ours = self.profile.plugins().iter().find_map(|plugin| {
            let rejection = plugin.as_pre_enqueue()?.pre_enqueue(world, class)?;
            Some(RejectionRecord {
                plugin: Some(plugin.name().to_owned()),
                code: "UnschedulableAndUnresolvable".to_owned(),
                reasons: vec![rejection.reason],
            })
        });
        let recorded = self.record.pre_enqueue.as_ref();
        let equal = match (recorded, &ours) {
            (None, None) => true,
            (Some(recorded), Some(ours)) => same_rejection(recorded, ours),
            _ => false,
        };
        self.check(
            || DifferenceKind::PreEnqueue,
            equal,
            || (show_optional(recorded), show_optional(ours.as_ref())),
        );
    }

    /// Compares which claims could lose their allocation when no node fits.
    pub(super) fn post_filter(&mut self, class: ClassId) {
        let record = self.record;
        let Some(nodes) = record.nodes.as_ref().filter(|_| !record.aborted) else { return };
        if nodes.iter().any(|node| node.feasible) {
            return;
        }
        let class = self.world.class(class);
        let ours: Vec<String> = deallocation_candidates(self.world, self.profile, class)
            .into_iter()
            .map(|(namespace, name)| format!("{namespace}/{name}"))
            .collect();
        let recorded: Vec<String> = match &record.post_filter {
            None => Vec::new(),
            Some(it) if it.candidates.is_empty() => vec![it.deallocated.clone()],
            Some(it) => it.candidates.clone(),
        };
        let show = |list: &[String]| if list.is_empty() { NOTHING.to_owned() } else { show_list(list) };
        self.check(|| DifferenceKind::PostFilter, recorded == ours, || (show(&recorded), show(&ours)));
    }
}
