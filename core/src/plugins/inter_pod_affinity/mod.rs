//! InterPodAffinity: pods that want to be near other pods, or far from them.
//! Upstream: plugins/interpodaffinity/{filtering,scoring}.go.

#[cfg(test)]
mod cases;
mod detail;
#[cfg(test)]
mod hint_cases;
mod hints;
#[cfg(any(test, feature = "naive"))]
pub mod naive;
#[cfg(any(test, feature = "naive"))]
mod twin;

use std::sync::Arc;

use crate::class::PodClass;
use crate::framework::args::{InterPodAffinityArgs, PluginArgs};
use crate::framework::descriptor::{InTreeFactored, PluginDescriptor, other_args};
use crate::framework::detail::Detail;
use crate::framework::plugin::{
    FilterPlugin, MAX_NODE_SCORE, Plugin, PreFilter, PreScore, Reads, ScorePlugin, SignPod, retain_rows,
};
use crate::framework::points::EnqueueExtensions;
use crate::framework::status::{Code, Reason};
use crate::ids::ClassId;
use crate::interner::Vocabulary;
use crate::topology::affinity::AffinityState;
use crate::topology::counter::{Counter, CounterId, Role};
use crate::topology::domains::NO_DOMAIN;
use crate::world::World;

/// Upstream's name.
pub const NAME: &str = "InterPodAffinity";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: Some(2),
    default_args: || PluginArgs::InterPodAffinity(InterPodAffinityArgs::default()),
    factory,
    #[cfg(any(test, feature = "naive"))]
    twin: twin::TWIN,
    #[cfg(test)]
    cases: cases::CASES,
};

fn factory(args: &PluginArgs, _: &mut Vocabulary) -> InTreeFactored {
    let PluginArgs::InterPodAffinity(args) = args else { return Err(other_args("InterPodAffinityArgs")) };
    Ok(Arc::new(InterPodAffinity {
        hard_pod_affinity_weight: args.hard_pod_affinity_weight,
        ignore_preferred_of_existing: args.ignore_preferred_terms_of_existing_pods,
    }))
}

const REASON_AFFINITY: Reason = Reason::Text("node(s) didn't match pod affinity rules");
const REASON_ANTI_AFFINITY: Reason = Reason::Text("node(s) didn't match pod anti-affinity rules");
const REASON_UNREADABLE: Reason =
    Reason::Text("parsing pod: a label selector of its affinity terms cannot be read");
const REASON_EXISTING: Reason = Reason::Text("node(s) didn't satisfy existing pods anti-affinity rules");

/// Compares pods with pods, by topology domain.
#[derive(Clone, Copy, Debug)]
pub struct InterPodAffinity {
    /// `hardPodAffinityWeight`: what a placed pod's required affinity term is worth to a pod that
    /// it speaks of.
    pub hard_pod_affinity_weight: i32,
    /// `ignorePreferredTermsOfExistingPods`.
    pub ignore_preferred_of_existing: bool,
}

impl Default for InterPodAffinity {
    fn default() -> Self {
        InterPodAffinity { hard_pod_affinity_weight: 1, ignore_preferred_of_existing: false }
    }
}

fn state<'a>(world: &'a World, class: &PodClass) -> &'a AffinityState {
    world.topology().affinity(class.id).expect("the class was prepared")
}

/// Counters of the placed pods' required anti-affinity terms that speak of the class.
fn repelling<'a>(world: &'a World, class: &PodClass) -> impl Iterator<Item = &'a Counter> + 'a {
    let topology = world.topology();
    let repels = |&&(role, _): &&(Role, CounterId)| role == Role::Repels;
    topology.spoken_of(class.id).iter().filter(repels).map(|&(_, id)| topology.get(id))
}

fn skips_filter(world: &World, class: &PodClass) -> bool {
    class.pod_affinity.required.is_empty()
        && class.pod_anti_affinity.required.is_empty()
        && repelling(world, class).all(|counter| counter.hits() == 0)
}

impl InterPodAffinity {
    /// Everything that adds to the score: weight and counter.
    fn weighted<'a>(
        &self,
        world: &'a World,
        class: &PodClass,
    ) -> impl Iterator<Item = (i64, &'a Counter)> + 'a {
        let topology = world.topology();
        let hard = i64::from(self.hard_pod_affinity_weight);
        let own = state(world, class).preferred.iter().map(|&(weight, id)| (weight, topology.get(id)));
        let of_placed = topology.spoken_of(class.id).iter().filter_map(move |&(role, id)| match role {
            Role::Repels => None,
            Role::Requires => (hard > 0).then(|| (hard, topology.get(id))),
            Role::Prefers => Some((1, topology.get(id))),
        });
        own.chain(of_placed).filter(|(_, counter)| counter.hits() > 0)
    }

    fn skips_score(&self, world: &World, class: &PodClass) -> bool {
        let has_preferences =
            !class.pod_affinity.preferred.is_empty() || !class.pod_anti_affinity.preferred.is_empty();
        (self.ignore_preferred_of_existing && !has_preferences)
            || self.weighted(world, class).next().is_none()
    }
}

impl Plugin for InterPodAffinity {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sign_pod(&self, class: &PodClass) -> SignPod {
        let terms = [&class.input.pod_affinity, &class.input.pod_anti_affinity];
        if terms.iter().any(|terms| !terms.required.is_empty() || !terms.preferred.is_empty()) {
            return SignPod::NotSigned;
        }
        if self.ignore_preferred_of_existing { SignPod::Spec } else { SignPod::SpecAndLabels }
    }

    fn plan_version(&self, world: &World, class: &PodClass) -> Option<u64> {
        let skips = [skips_filter(world, class), self.skips_score(world, class)];
        Some(u64::from(skips[0]) | u64::from(skips[1]) << 1)
    }

    fn prepare(&self, world: &mut World, class: ClassId) {
        world.prepare_affinity(class);
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

/// No placed pod matches all required affinity terms anywhere, and the pod itself does: it may be
/// the first of its group.
fn may_be_first(world: &World, state: &AffinityState) -> bool {
    state.asks_for_itself && state.required.iter().all(|&id| world.topology().get(id).hits() == 0)
}

impl FilterPlugin for InterPodAffinity {
    fn reads(&self) -> Reads {
        Reads::Global
    }

    fn pre_filter<'a>(&self, world: &'a World, class: &'a PodClass) -> PreFilter<'a> {
        if class.pod_affinity.are_unreadable || class.pod_anti_affinity.are_unreadable {
            return PreFilter::Reject(Code::UnschedulableAndUnresolvable, REASON_UNREADABLE);
        }
        if skips_filter(world, class) { PreFilter::Skip } else { PreFilter::Run }
    }

    fn filter(&self, world: &World, class: &PodClass, first_word: usize, words: &mut [u64]) {
        let topology = world.topology();
        let state = state(world, class);
        let may_be_first = may_be_first(world, state);
        for &id in &state.required {
            let counter = topology.get(id);
            let domains = topology.domains().of_rows(counter.key());
            let counts = counter.counts();
            retain_rows(first_word, words, |row| {
                let domain = domains[row];
                domain != NO_DOMAIN && (may_be_first || counts[domain as usize] > 0)
            });
        }
        let own = state.repelled_by.iter().map(|&id| topology.get(id));
        for counter in own.chain(repelling(world, class)).filter(|counter| counter.hits() > 0) {
            let domains = topology.domains().of_rows(counter.key());
            let counts = counter.counts();
            retain_rows(first_word, words, |row| counts[domains[row] as usize] <= 0);
        }
    }

    fn verdict(&self, world: &World, class: &PodClass, row: usize, reasons: &mut Vec<Reason>) -> Code {
        let topology = world.topology();
        let state = state(world, class);
        let may_be_first = may_be_first(world, state);
        let domain = |counter: &Counter| topology.domains().of_rows(counter.key())[row];
        let is_met = |&id: &CounterId| {
            let counter = topology.get(id);
            let domain = domain(counter);
            domain != NO_DOMAIN && (may_be_first || counter.counts()[domain as usize] > 0)
        };
        if !state.required.iter().all(is_met) {
            reasons.push(REASON_AFFINITY);
            return Code::UnschedulableAndUnresolvable;
        }
        let is_violated = |counter: &Counter| counter.counts()[domain(counter) as usize] > 0;
        if state.repelled_by.iter().any(|&id| is_violated(topology.get(id))) {
            reasons.push(REASON_ANTI_AFFINITY);
            return Code::Unschedulable;
        }
        if repelling(world, class).any(is_violated) {
            reasons.push(REASON_EXISTING);
            return Code::Unschedulable;
        }
        Code::Success
    }

    fn details(&self, world: &World, class: &PodClass, row: usize, details: &mut Vec<Detail>) {
        let state = state(world, class);
        let spoken_of = world.topology().spoken_of(class.id).iter();
        let repelling = spoken_of.filter(|(role, _)| *role == Role::Repels).map(|&(_, id)| id).collect();
        detail::details(world, class, row, state, (may_be_first(world, state), repelling), details);
    }
}

impl ScorePlugin for InterPodAffinity {
    fn reads(&self) -> Reads {
        Reads::Global
    }

    fn pre_score(&self, world: &World, class: &PodClass) -> PreScore {
        if self.skips_score(world, class) { PreScore::Skip } else { PreScore::Run }
    }

    fn score(&self, world: &World, class: &PodClass, rows: &[u32], scores: &mut [i64]) {
        scores.fill(0);
        for (weight, counter) in self.weighted(world, class) {
            let domains = world.topology().domains().of_rows(counter.key());
            let counts = counter.counts();
            for (&row, score) in rows.iter().zip(scores.iter_mut()) {
                *score += weight * i64::from(counts[domains[row as usize] as usize]);
            }
        }
    }

    fn normalize(&self, _: &World, _: &PodClass, _: &[u32], scores: &mut [i64]) {
        let lowest = scores.iter().copied().min().unwrap_or(0);
        let range = scores.iter().copied().max().unwrap_or(0) - lowest;
        for score in scores {
            // In floating point, as upstream does it: the quotient is rounded before it is scaled.
            let share = if range > 0 { (*score - lowest) as f64 / range as f64 } else { 0.0 };
            *score = (MAX_NODE_SCORE as f64 * share) as i64;
        }
    }
}
