//! What becomes of one node, found out once a cycle.
//!
//! Upstream: dynamicresources.go `Filter`, `isClaimReadyForBinding`, `computeScore`.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::claims::{PodClaims, claims_of};
use super::extended;
use crate::class::PodClass;
use crate::dra::ExtendedResourceClaim;
use crate::dra::allocator::{NodeAllocation, allocate};
use crate::dra::node::{DraNode, selects};
use crate::framework::status::{Code, Reason};
use crate::input::PodInput;
use crate::input::dra::{AllocationInput, DeviceResultInput, ResourceClaimInput};
use crate::world::World;

/// An alternative that is first in its list is worth so much.
/// Upstream: api/resource/v1 `FirstAvailableDeviceRequestMaxSize`.
const ALTERNATIVES_MAX: i64 = 8;

/// What became of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The pod can have its devices there: the claims that get them, each with what it gets.
    Fits(Vec<(Arc<ResourceClaimInput>, AllocationInput)>, Option<ExtendedResourceClaim>),
    /// It cannot.
    Rejected {
        why: String,
        /// Claims that are allocated and keep the pod from this node, by their place among the pod's.
        unavailable: Vec<usize>,
    },
    /// The cycle ends.
    Error(String),
}

impl Outcome {
    pub(super) fn code(&self) -> Code {
        match self {
            Outcome::Fits(..) => Code::Success,
            Outcome::Rejected { .. } => Code::UnschedulableAndUnresolvable,
            Outcome::Error(_) => Code::Error,
        }
    }

    pub(super) fn reason(&self) -> Option<Reason> {
        match self {
            Outcome::Fits(..) => None,
            Outcome::Rejected { why, .. } | Outcome::Error(why) => Some(Reason::Owned(why.as_str().into())),
        }
    }
}

/// A node of the world.
struct Row<'a> {
    world: &'a World,
    row: usize,
}

impl DraNode for Row<'_> {
    fn name(&self) -> &str {
        self.world.node_name(self.world.nodes().columns().id[self.row])
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.world.node_label(self.row, self.world.vocabulary.symbols.get(key)?)
    }
}

/// Looks at one node.
pub(super) fn look_at(world: &World, class: &PodClass, claims: &PodClaims, row: usize) -> Outcome {
    let rejected = |why: &str| Outcome::Rejected { why: why.to_owned(), unavailable: Vec::new() };
    let node = Row { world, row };
    let mut on_node = None;
    if let Some(claim) = claims.extended() {
        // One of an earlier attempt is deleted first.
        if !claim.requests.is_empty() {
            return rejected("cannot schedule extended resource claim");
        }
        let names = match extended::on_row(world, class, row) {
            Ok(names) => names,
            Err(why) => return rejected(why),
        };
        if !names.is_empty() || claims.has_user_claims() {
            on_node = Some(extended::claim_for(world.dra(), claim, &class.input, &names));
        }
    }
    if on_node.is_none() && !claims.has_user_claims() {
        return Outcome::Fits(Vec::new(), None);
    }
    let unavailable: Vec<usize> =
        (0..claims.all.len()).filter(|&at| is_unavailable(&claims.all[at], &node)).collect();
    let mut open: Vec<Arc<ResourceClaimInput>> =
        claims.all.iter().filter(|claim| claim.allocation.is_none()).cloned().collect();
    if let (Some(extended), Some(last)) = (&on_node, open.last_mut()) {
        *last = Arc::clone(&extended.claim);
    }
    let allocations = match open.is_empty() {
        true => Vec::new(),
        false => match allocate(world.dra(), &node, &open) {
            NodeAllocation::Found(allocations) => allocations,
            NodeAllocation::NotFound => return rejected("cannot allocate all claims"),
            NodeAllocation::InvalidPools => return rejected("invalid resource pools were encountered"),
            NodeAllocation::Error(error) => return Outcome::Error(error),
        },
    };
    if !unavailable.is_empty() {
        return Outcome::Rejected { why: "resourceclaim not available on the node".to_owned(), unavailable };
    }
    Outcome::Fits(open.into_iter().zip(allocations).collect(), on_node)
}

/// A claim is allocated in a way that keeps the pod from a node: for other nodes, or with devices that are
/// not ready.
///
/// Differs: the scheduler has no clock of the world, so the time in which devices must become ready
/// (`bindingTimeout`) counts as over once it has begun
/// (`claim_whose_devices_wait_is_unavailable_once_it_has_a_timestamp`).
fn is_unavailable(claim: &ResourceClaimInput, node: &dyn DraNode) -> bool {
    let Some(allocation) = &claim.allocation else { return false };
    if allocation.node_selector.as_ref().is_some_and(|terms| !selects(terms, node)) {
        return true;
    }
    match readiness(claim, allocation) {
        Readiness::Ready => false,
        Readiness::Failed => true,
        Readiness::Waiting => {
            let waits = |result: &DeviceResultInput| result.binding_conditions.is_some();
            allocation.has_timestamp && allocation.results.iter().any(waits)
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    Ready,
    Waiting,
    Failed,
}

/// Whether the devices of a claim are ready for pods to be bound.
/// Upstream: `isClaimReadyForBinding`.
pub(super) fn readiness(claim: &ResourceClaimInput, allocation: &AllocationInput) -> Readiness {
    for result in &allocation.results {
        let wanted = result.binding_conditions.as_deref().unwrap_or_default();
        if wanted.is_empty() {
            continue;
        }
        let Some(status) = claim.devices.iter().find(|status| status.device == result.device) else {
            return Readiness::Waiting;
        };
        let holds =
            |name: &String| status.conditions.iter().any(|(known, is_true)| known == name && *is_true);
        if result.binding_failure_conditions.iter().flatten().any(holds) {
            return Readiness::Failed;
        }
        if !wanted.iter().all(holds) {
            return Readiness::Waiting;
        }
    }
    Readiness::Ready
}

/// The better the alternatives that were taken, the more.
pub(super) fn score(claims: &PodClaims, found: &[(Arc<ResourceClaimInput>, AllocationInput)]) -> i64 {
    let mut found = found.iter();
    let mut score = 0;
    for claim in &claims.all {
        let allocation = match &claim.allocation {
            Some(allocation) => allocation.as_ref(),
            None => match found.next() {
                Some((_, allocation)) => allocation,
                None => return score,
            },
        };
        for request in claim.requests.iter().filter(|request| request.exactly.is_none()) {
            for (at, (name, _)) in (0..).zip(&request.first_available) {
                let full = format!("{}/{name}", request.name);
                if allocation.results.iter().any(|result| result.request == full) {
                    score += ALTERNATIVES_MAX - at;
                }
            }
        }
    }
    score
}

/// What was found out about nodes for the pod at hand. It holds until anything changes.
#[derive(Debug, Default)]
pub(super) struct Memo {
    kept: Mutex<Option<Kept>>,
}

#[derive(Debug)]
struct Kept {
    pod: Arc<PodInput>,
    versions: [u64; 3],
    claims: Arc<Result<PodClaims, String>>,
    rows: FxHashMap<usize, Arc<Outcome>>,
}

impl Memo {
    fn with<R>(&self, world: &World, class: &PodClass, then: impl FnOnce(&mut Kept) -> R) -> R {
        let nodes = world.nodes();
        let versions = [world.dra().version(), nodes.structure_version(), nodes.change_cursor()];
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = |it: &Kept| it.versions == versions && Arc::ptr_eq(&it.pod, &class.input);
        if !kept.as_ref().is_some_and(holds) {
            let claims = Arc::new(claims_of(world, class));
            *kept =
                Some(Kept { pod: Arc::clone(&class.input), versions, claims, rows: FxHashMap::default() });
        }
        then(kept.as_mut().expect("just made"))
    }

    /// The pod's claims, or why no node can have it.
    pub(super) fn claims(&self, world: &World, class: &PodClass) -> Arc<Result<PodClaims, String>> {
        self.with(world, class, |kept| Arc::clone(&kept.claims))
    }

    /// What becomes of a row. Other threads may look at other rows meanwhile.
    pub(super) fn outcome(
        &self,
        world: &World,
        class: &PodClass,
        claims: &PodClaims,
        row: usize,
    ) -> Arc<Outcome> {
        if let Some(known) = self.with(world, class, |kept| kept.rows.get(&row).cloned()) {
            return known;
        }
        let outcome = Arc::new(look_at(world, class, claims, row));
        self.with(world, class, |kept| kept.rows.insert(row, Arc::clone(&outcome)));
        outcome
    }
}
