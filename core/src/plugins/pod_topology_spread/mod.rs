//! PodTopologySpread: pods of a group are spread over the domains of a topology key.
//! Upstream: plugins/podtopologyspread/{filtering,scoring}.go.

#[cfg(test)]
mod cases;
#[cfg(test)]
mod hint_cases;
mod hints;
#[cfg(any(test, feature = "naive"))]
pub mod naive;
#[cfg(any(test, feature = "naive"))]
mod twin;

use std::sync::Arc;
use std::sync::Mutex;

use crate::class::PodClass;
use crate::class::affinity::SpreadConstraint;
use crate::framework::args::{Defaulting, PluginArgs, PodTopologySpreadArgs};
use crate::framework::descriptor::{InTreeFactored, PluginDescriptor, other_args};
use crate::framework::detail::{Detail, SpreadDetail};
use crate::framework::plugin::{
    FilterPlugin, MAX_NODE_SCORE, Plugin, PreFilter, PreScore, Reads, ScorePlugin, SignPod, retain_rows,
};
use crate::framework::points::EnqueueExtensions;
use crate::framework::status::{Code, Reason};
use crate::ids::{ClassId, Symbol};
use crate::input::SpreadConstraintInput;
use crate::interner::{EMPTY, Vocabulary};
use crate::kernels::shares::scaled;
use crate::snapshot::mask::{WORD_BITS, word_count};
use crate::topology::domains::NO_DOMAIN;
use crate::topology::spread::{Spread, SpreadState, Wanted};
use crate::world::World;

/// Upstream's name.
pub const NAME: &str = "PodTopologySpread";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: Some(2),
    default_args: || PluginArgs::PodTopologySpread(PodTopologySpreadArgs::default()),
    factory,
    #[cfg(any(test, feature = "naive"))]
    twin: twin::TWIN,
    #[cfg(test)]
    cases: cases::CASES,
};

fn factory(args: &PluginArgs, vocabulary: &mut Vocabulary) -> InTreeFactored {
    let PluginArgs::PodTopologySpread(args) = args else { return Err(other_args("PodTopologySpreadArgs")) };
    let defaults = match args.defaulting {
        Defaulting::System => DefaultConstraints::System,
        Defaulting::List => DefaultConstraints::List(args.default_constraints.clone()),
    };
    Ok(Arc::new(PodTopologySpread::new(defaults, vocabulary)))
}

const REASON_SKEW: Reason = Reason::Text("node(s) didn't match pod topology spread constraints");
const REASON_LABEL: Reason =
    Reason::Text("node(s) didn't match pod topology spread constraints (missing required label)");
/// Raw scores are not negative, so this one marks a node that is not scored.
const NOT_SCORED: i64 = -1;

/// `defaultConstraints` and `defaultingType`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultConstraints {
    /// Upstream's own: hosts and zones, both soft.
    System,
    /// Those of the configuration.
    List(Vec<SpreadConstraintInput>),
}

/// Compares the number of matching pods per domain.
#[derive(Debug)]
pub struct PodTopologySpread {
    defaults: Box<[SpreadConstraintInput]>,
    is_system: bool,
    host_key: Symbol,
    /// Domains seen while a cycle counts them: kept for its memory only.
    seen: Mutex<Vec<u64>>,
}

impl PodTopologySpread {
    /// A plugin with these constraints for pods that have none of their own.
    #[must_use]
    pub fn new(defaults: DefaultConstraints, vocabulary: &mut Vocabulary) -> PodTopologySpread {
        let host_key = vocabulary.symbols.intern("kubernetes.io/hostname");
        match defaults {
            DefaultConstraints::System => {
                let soft = |key: &str, max_skew| SpreadConstraintInput {
                    max_skew,
                    topology_key: key.to_owned(),
                    schedule_anyway: true,
                    ..SpreadConstraintInput::default()
                };
                let defaults =
                    [soft("kubernetes.io/hostname", 3), soft("topology.kubernetes.io/zone", 5)].into();
                PodTopologySpread { defaults, is_system: true, host_key, seen: Mutex::default() }
            }
            DefaultConstraints::List(list) => {
                let defaults = list.into();
                PodTopologySpread { defaults, is_system: false, host_key, seen: Mutex::default() }
            }
        }
    }

    fn uses_defaults(&self, class: &PodClass) -> bool {
        class.spread.is_empty() && !self.defaults.is_empty()
    }

    fn version(&self, world: &World, class: &PodClass) -> u64 {
        if self.uses_defaults(class) { world.owners().version() } else { 0 }
    }

    /// The default constraints, with the selector of the pod's services and controller.
    fn default_constraints(&self, world: &mut World, class: ClassId) -> Vec<SpreadConstraint> {
        let (owners, classes, vocabulary) = world.owners_and_vocabulary();
        let class = classes.get(class);
        let selector = owners.selector_for(class, vocabulary);
        if selector.is_everything() {
            return Vec::new();
        }
        let compile = |input: &SpreadConstraintInput| SpreadConstraint {
            selector: selector.clone(),
            ..SpreadConstraint::compile(input, &class.input.labels, vocabulary)
        };
        self.defaults.iter().map(compile).collect()
    }
}

fn state<'a>(world: &'a World, class: &PodClass) -> &'a SpreadState {
    world.topology().spread(class.id).expect("the class was prepared")
}

impl Plugin for PodTopologySpread {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sign_pod(&self, class: &PodClass) -> SignPod {
        let has_constraints = !class.spread.is_empty() || !self.defaults.is_empty();
        if has_constraints { SignPod::NotSigned } else { SignPod::Spec }
    }

    fn plan_version(&self, world: &World, class: &PodClass) -> Option<u64> {
        self.uses_defaults(class).then(|| self.version(world, class))
    }

    fn prepare(&self, world: &mut World, class: ClassId) {
        let version = self.version(world, world.class(class));
        if world.topology().is_spread_prepared(class, version) {
            return;
        }
        let constraints = if self.uses_defaults(world.class(class)) {
            self.default_constraints(world, class)
        } else {
            world.class(class).spread.to_vec()
        };
        let needs_all_keys = !world.class(class).spread.is_empty() || !self.is_system;
        let host_key = self.host_key;
        world.prepare_spread(class, Wanted { constraints: &constraints, needs_all_keys, host_key, version });
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

/// The count of the emptiest domain. Upstream: filtering.go `minMatchNum`.
#[inline]
fn min_match_num(world: &World, spread: &Spread) -> i64 {
    let counter = world.topology().get(spread.counter);
    // With fewer domains than asked for, the emptiest one is thought to be empty.
    let lowest = if counter.domain_count() < spread.min_domains { 0 } else { counter.lowest() };
    i64::from(lowest)
}

/// The highest count a domain may have for one pod more to keep the skew.
#[inline]
fn count_max(world: &World, spread: &Spread) -> i64 {
    i64::from(spread.max_skew) + min_match_num(world, spread) - i64::from(spread.self_match)
}

/// A constraint seen from a row; `None` when the row satisfies it.
fn violation(world: &World, spread: &Spread, row: usize) -> Option<SpreadDetail> {
    let topology = world.topology();
    let domain = topology.domains().of_rows(spread.key)[row];
    debug_assert!(
        (domain as usize) < topology.get(spread.counter).counts().len(),
        "a row's domain is counted"
    );
    let count = i64::from(topology.get(spread.counter).counts()[domain as usize]);
    if domain != NO_DOMAIN && count <= count_max(world, spread) {
        return None;
    }
    let key = topology.domains().label_key(spread.key)?;
    let min = min_match_num(world, spread);
    Some(SpreadDetail {
        topology_key: world.vocabulary.symbols.text(key).to_owned(),
        domain: world.node_label(row, key).map(str::to_owned),
        count,
        min,
        skew: count + i64::from(spread.self_match) - min,
        max_skew: i64::from(spread.max_skew),
    })
}

impl FilterPlugin for PodTopologySpread {
    fn reads(&self) -> Reads {
        Reads::Global
    }

    fn pre_filter<'a>(&self, world: &'a World, class: &'a PodClass) -> PreFilter<'a> {
        if state(world, class).hard.is_empty() { PreFilter::Skip } else { PreFilter::Run }
    }

    fn filter(&self, world: &World, class: &PodClass, first_word: usize, words: &mut [u64]) {
        let topology = world.topology();
        for spread in &state(world, class).hard {
            let domains = topology.domains().of_rows(spread.key);
            let counts = topology.get(spread.counter).counts();
            let count_max = count_max(world, spread);
            retain_rows(first_word, words, |row| {
                let domain = domains[row];
                domain != NO_DOMAIN && i64::from(counts[domain as usize]) <= count_max
            });
        }
    }

    fn verdict(&self, world: &World, class: &PodClass, row: usize, reasons: &mut Vec<Reason>) -> Code {
        let topology = world.topology();
        for spread in &state(world, class).hard {
            let domain = topology.domains().of_rows(spread.key)[row];
            if domain == NO_DOMAIN {
                reasons.push(REASON_LABEL);
                return Code::UnschedulableAndUnresolvable;
            }
            let count = topology.get(spread.counter).counts()[domain as usize];
            if i64::from(count) > count_max(world, spread) {
                reasons.push(REASON_SKEW);
                return Code::Unschedulable;
            }
        }
        Code::Success
    }

    fn details(&self, world: &World, class: &PodClass, row: usize, details: &mut Vec<Detail>) {
        let hard = &state(world, class).hard;
        details.extend(hard.iter().filter_map(|spread| violation(world, spread, row)).map(Detail::Spread));
    }
}

impl PodTopologySpread {
    /// Whether the node lacks a key that it would need to be scored.
    #[inline]
    fn is_ignored(world: &World, state: &SpreadState, row: usize) -> bool {
        let domains = world.topology().domains();
        state.needs_all_keys && state.soft.iter().any(|it| domains.of_rows(it.key)[row] == NO_DOMAIN)
    }
}

impl PodTopologySpread {
    /// How many domains the scored rows are in. Nodes without the key, if they are scored, are in
    /// one domain with those that have it empty.
    fn domains_of(&self, world: &World, state: &SpreadState, spread: &Spread, rows: &[u32]) -> usize {
        let domains = world.topology().domains();
        let domain_of_row = domains.of_rows(spread.key);
        let empty = domains.of_value(spread.key, EMPTY).unwrap_or(NO_DOMAIN);
        let mut seen = self.seen.lock().expect("no holder panics");
        seen.clear();
        seen.resize(word_count(domains.size(spread.key)), 0);
        for &row in rows.iter().filter(|&&row| !Self::is_ignored(world, state, row as usize)) {
            let domain = match domain_of_row[row as usize] {
                NO_DOMAIN => empty,
                domain => domain,
            } as usize;
            seen[domain / WORD_BITS] |= 1 << (domain % WORD_BITS);
        }
        seen.iter().map(|word| word.count_ones() as usize).sum()
    }
}

/// Half away from zero, as Go's `math.Round` has it. `f64::round` calls a function.
#[inline]
fn round(sum: f64) -> i64 {
    // Below this a sum less its whole part is exact.
    const EXACT: f64 = (1u64 << 52) as f64;
    if (0.0..EXACT).contains(&sum) {
        let whole = sum as i64;
        whole + i64::from(sum - whole as f64 >= 0.5)
    } else {
        sum.round() as i64
    }
}

impl ScorePlugin for PodTopologySpread {
    fn reads(&self) -> Reads {
        Reads::Global
    }

    fn pre_score(&self, world: &World, class: &PodClass) -> PreScore {
        if state(world, class).soft.is_empty() { PreScore::Skip } else { PreScore::Run }
    }

    fn score(&self, world: &World, class: &PodClass, rows: &[u32], scores: &mut [i64]) {
        let state = state(world, class);
        let topology = world.topology();
        let scored = rows.iter().filter(|&&row| !Self::is_ignored(world, state, row as usize)).count();
        // Sums are kept as the bits of a float until all constraints are added up.
        scores.fill(0.0f64.to_bits().cast_signed());
        for spread in &state.soft {
            let domains = topology.domains().of_rows(spread.key);
            let counter = topology.get(spread.counter);
            let counted_by = topology.domains().of_rows(counter.key());
            let size = if spread.by_host { scored } else { self.domains_of(world, state, spread, rows) };
            let weight = ((size + 2) as f64).ln();
            for (&row, score) in rows.iter().zip(scores.iter_mut()) {
                if domains[row as usize] != NO_DOMAIN {
                    let count = counter.counts()[counted_by[row as usize] as usize];
                    let sum = f64::from_bits(score.cast_unsigned())
                        + (f64::from(count) * weight + f64::from(spread.max_skew - 1));
                    *score = sum.to_bits().cast_signed();
                }
            }
        }
        for (&row, score) in rows.iter().zip(scores) {
            let sum = f64::from_bits(score.cast_unsigned());
            *score = if Self::is_ignored(world, state, row as usize) { 0 } else { round(sum) };
        }
    }

    fn normalize(&self, world: &World, class: &PodClass, rows: &[u32], scores: &mut [i64]) {
        let state = state(world, class);
        let (mut lowest, mut highest) = (i64::MAX, 0);
        for (&row, score) in rows.iter().zip(scores.iter_mut()) {
            if Self::is_ignored(world, state, row as usize) {
                *score = NOT_SCORED;
                continue;
            }
            lowest = lowest.min(*score);
            highest = highest.max(*score);
        }
        let level = world.nodes().columns().level;
        for scores in scores.chunks_mut(WORD_BITS) {
            let mut turned = [0; WORD_BITS];
            let mut scored = 0u64;
            for (bit, &score) in scores.iter().enumerate().filter(|&(_, &score)| score != NOT_SCORED) {
                scored |= 1 << bit;
                turned[bit] = highest + lowest - score;
            }
            if highest == 0 || !scaled(level, scores, &turned, scored, highest, false) {
                for (bit, score) in scores.iter_mut().enumerate() {
                    *score = match (scored >> bit & 1, highest) {
                        (0, _) => 0,
                        (_, 0) => MAX_NODE_SCORE,
                        _ => MAX_NODE_SCORE * turned[bit] / highest,
                    };
                }
            }
        }
    }
}
