//! PostFilter: an allocation that keeps the pod from every node is taken back.
//!
//! Upstream: dynamicresources.go `PostFilter`, `deallocateOrDeletePodClaims`.

use std::collections::BTreeSet;

use super::claims::{PodClaims, claims_of};
use super::outcome::{Outcome, look_at};
use super::{DynamicResources, EXTENDED_CLAIM_NAME, NAME};
use crate::api_call::{ApiCall, ClaimWrite, ClaimWrites};
use crate::class::PodClass;
use crate::dra::ClaimName;
use crate::framework::plugin::PreFilter;
use crate::framework::points::{Failed, Handle, PodRef, PostFilter, PostFilterPlugin, PostFilterVerdict};
use crate::framework::profile::Profile;
use crate::framework::status::{Code, Reason};
use crate::world::World;

/// The claims of a pod whose allocation could be taken back, in the order of the pod's claims: allocated,
/// used by nobody else, and in the way on some node that the filters before this plugin let pass.
#[must_use]
pub fn deallocation_candidates(world: &World, profile: &Profile, class: &PodClass) -> Vec<ClaimName> {
    if !super::may_have_claims(world, class) {
        return Vec::new();
    }
    let Ok(claims) = claims_of(world, class) else { return Vec::new() };
    let in_the_way = unavailable(world, profile, class, &claims);
    let uid = class.input.identity.as_ref().map(|identity| &identity.uid);
    let extended = claims.extended().map(|_| claims.all.len() - 1);
    let can_go = |at: &usize| match claims.all[*at].reserved_for.as_slice() {
        [] => true,
        [only] => uid == Some(only),
        _ => false,
    };
    let usable = in_the_way.into_iter().filter(|at| extended != Some(*at)).filter(can_go);
    usable.map(|at| (claims.all[at].namespace.clone(), claims.all[at].name.clone())).collect()
}

/// What is done to the claims of a pod that fits nowhere: one of its own gives back its devices, or the one
/// that the scheduler made for its extended resources is void.
///
/// Upstream: `deallocateOrDeletePodClaims`, which takes any claim, as a map of Go orders them.
#[must_use]
pub fn void_claim(world: &World, profile: &Profile, class: &PodClass) -> Option<ClaimWrite> {
    if let Some(claim) = deallocation_candidates(world, profile, class).into_iter().next() {
        return Some(ClaimWrite::Deallocate(claim));
    }
    let claims = claims_of(world, class).unwrap_or_default();
    let claim = claims.extended().filter(|claim| claim.name != EXTENDED_CLAIM_NAME)?;
    Some(ClaimWrite::Delete((claim.namespace.clone(), claim.name.clone())))
}

/// The claims that are in the way on some node, by their place.
fn unavailable(world: &World, profile: &Profile, class: &PodClass, claims: &PodClaims) -> BTreeSet<usize> {
    let before: Vec<_> =
        profile.filters().iter().copied().take_while(|&plugin| profile.name(plugin) != NAME).collect();
    let runs = |plugin| profile.filter(plugin).pre_filter(world, class) != PreFilter::Skip;
    let before: Vec<_> = before.into_iter().filter(|&plugin| runs(plugin)).collect();
    let mut found = BTreeSet::new();
    let mut reasons = Vec::new();
    for row in 0..world.nodes().node_count() {
        reasons.clear();
        let mut verdicts =
            before.iter().map(|&it| profile.filter(it).verdict(world, class, row, &mut reasons));
        if verdicts.all(|code| code == Code::Success)
            && let Outcome::Rejected { unavailable, .. } = look_at(world, class, claims, row)
        {
            found.extend(unavailable);
        }
    }
    found
}

/// Whether the plugin's PreFilter was not asked, because one before it has rejected the pod for good. Its
/// PostFilter misses what PreFilter would have noted, which is an error: the plugins after it, preemption as
/// well, are not asked.
///
/// Upstream: dynamicresources.go `PostFilter` reads the state that only `PreFilter` writes.
fn is_without_state(failed: &Failed<'_>) -> bool {
    let (profile, diagnosis) = (failed.profile, failed.diagnosis);
    // A rejection that eviction might help against does not end PreFilter.
    if diagnosis.pre_filter.is_none() || 0 < diagnosis.resolvable_count {
        return false;
    }
    let place =
        |wanted: &str| profile.pre_filters().iter().position(|&plugin| profile.name(plugin) == wanted);
    let last = diagnosis.plugins.iter().filter_map(|plugin| place(plugin)).max();
    matches!((last, place(NAME)), (Some(last), Some(own)) if last < own)
}

impl PostFilterPlugin for DynamicResources {
    fn post_filter(&self, handle: &mut Handle<'_>, pod: PodRef<'_>, failed: &Failed<'_>) -> PostFilter {
        let world = handle.world;
        if is_without_state(failed) {
            return PostFilter {
                verdict: PostFilterVerdict::Error,
                ..PostFilter::unschedulable(Some(Reason::Text("not found")))
            };
        }
        if failed.diagnosis.pre_filter.is_some() || !super::may_have_claims(world, pod.class) {
            return PostFilter::unschedulable(None);
        }
        let done = |message: &'static str, write: ClaimWrite| PostFilter {
            verdict: PostFilterVerdict::Unschedulable,
            calls: vec![ApiCall::WriteClaims(Box::new(ClaimWrites { pod: pod.uid, write }))],
            ..PostFilter::unschedulable(Some(Reason::Text(message)))
        };
        match void_claim(world, failed.profile, pod.class) {
            Some(write @ ClaimWrite::Delete(_)) => done("deletion of ResourceClaim completed", write),
            Some(write) => done("deallocation of ResourceClaim completed", write),
            None => PostFilter::unschedulable(None),
        }
    }
}
