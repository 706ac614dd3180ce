//! Disruption budgets: which victims a budget protects.
//!
//! Upstream: framework/preemption/util.go `FilterVictimsWithPDBViolation`.

use rustc_hash::FxHashMap;

use crate::class::PodClass;
use crate::class::labels::LabelSelector;
use crate::ids::{LabelSetId, PodUid, Symbol};
use crate::input::DisruptionBudgetInput;
use crate::interner::Vocabulary;
use crate::reclaim::{Marks, Uses};

/// A PodDisruptionBudget.
#[derive(Clone, Debug)]
struct Budget {
    namespace: Symbol,
    selector: LabelSelector,
    allowed: i32,
    /// Pods whose eviction the budget has already counted.
    disrupted: Vec<PodUid>,
    /// What was interned for it.
    uses: Uses,
}

/// All budgets, in order of arrival.
#[derive(Clone, Debug, Default)]
pub struct Budgets {
    budgets: Vec<Budget>,
    by_name: FxHashMap<(Symbol, Symbol), usize>,
    /// Moves when a budget may speak of other pods than before.
    version: u64,
}

/// How much budgets allow while victims are counted, and which budgets speak of which labels: matched
/// once for each set of labels, however many pods have it and on however many nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allowances {
    /// What each budget has left, and in which count that was noted.
    left: Vec<(u64, i32)>,
    count: u64,
    version: u64,
    matches: FxHashMap<(Symbol, LabelSetId), Box<[u32]>>,
}

impl Allowances {
    /// Sets of labels whose budgets are remembered at most.
    const MATCHES_MAX: usize = 1 << 16;

    /// Counts from the start, with nothing used of any budget.
    pub(crate) fn begin(&mut self, budgets: &Budgets) {
        self.count += 1;
        if self.version != budgets.version || self.matches.len() > Self::MATCHES_MAX {
            self.matches.clear();
            self.version = budgets.version;
        }
        self.left.resize(budgets.budgets.len(), (0, 0));
    }
}

impl Budgets {
    /// Adds a budget or takes over its new state. `disrupted` are those of the pods it names that are known.
    pub fn upsert(
        &mut self,
        input: &DisruptionBudgetInput,
        vocabulary: &mut Vocabulary,
        disrupted: &[PodUid],
    ) {
        let namespace = vocabulary.symbols.intern(&input.namespace);
        let name = vocabulary.symbols.intern(&input.name);
        let selector = input.selector.as_ref();
        let (selector, uses) = vocabulary.recorded(|it| LabelSelector::compile(selector, it));
        let budget = Budget {
            namespace,
            selector,
            uses,
            allowed: input.disruptions_allowed,
            disrupted: disrupted.to_vec(),
        };
        match self.by_name.get(&(namespace, name)) {
            Some(&at) => {
                // Most updates are of what is allowed.
                self.version += u64::from(self.budgets[at].selector != budget.selector);
                self.budgets[at] = budget;
            }
            None => {
                self.version += 1;
                self.by_name.insert((namespace, name), self.budgets.len());
                self.budgets.push(budget);
            }
        }
    }

    /// Takes a budget out.
    pub fn remove(&mut self, namespace: Symbol, name: Symbol) {
        let Some(at) = self.by_name.remove(&(namespace, name)) else { return };
        debug_assert_eq!(self.budgets[at].namespace, namespace, "a name is that of its budget");
        self.version += 1;
        self.budgets.remove(at);
        for other in self.by_name.values_mut().filter(|other| **other > at) {
            *other -= 1;
        }
    }

    /// Panics where names and budgets do not agree. See `World::check`.
    pub(crate) fn check(&self) {
        assert_eq!(self.by_name.len(), self.budgets.len(), "a budget has one name");
        for (&(namespace, _), &at) in &self.by_name {
            assert!(at < self.budgets.len(), "a name is that of a budget");
            assert_eq!(self.budgets[at].namespace, namespace, "a budget is found in its own namespace");
        }
        let places: usize = self.by_name.values().sum();
        let all: usize = (0..self.budgets.len()).sum();
        assert_eq!(places, all, "no two names have one budget");
    }

    /// Marks what budgets refer to.
    pub(crate) fn mark(&self, marks: &mut Marks) {
        for &(namespace, name) in self.by_name.keys() {
            marks.symbol(namespace);
            marks.symbol(name);
        }
        self.budgets.iter().for_each(|budget| marks.uses(&budget.uses));
    }

    /// There is none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.budgets.is_empty()
    }

    /// Ids of label sets stand for other sets from now on.
    pub(crate) fn forget_label_sets(&mut self) {
        self.version += 1;
    }

    /// The budgets that speak of a set of labels. One whose selector is empty protects nobody.
    fn matching(&self, namespace: Symbol, labels: LabelSetId, vocabulary: &Vocabulary) -> Box<[u32]> {
        let speaks = |budget: &Budget| {
            budget.namespace == namespace
                && !budget.selector.is_everything()
                && budget.selector.matches(labels, vocabulary)
        };
        (0u32..).zip(&self.budgets).filter(|(_, budget)| speaks(budget)).map(|(at, _)| at).collect()
    }

    /// Counts a victim against its budgets; whether one of them is exceeded. A pod without labels is never
    /// protected.
    pub(super) fn is_exceeded(
        &self,
        pod: PodUid,
        class: &PodClass,
        allowances: &mut Allowances,
        vocabulary: &Vocabulary,
    ) -> bool {
        debug_assert_eq!(allowances.left.len(), self.budgets.len(), "an allowance for each budget");
        if vocabulary.labels(class.labels).is_empty() {
            return false;
        }
        let Allowances { left, count, matches, .. } = allowances;
        let key = (class.namespace, class.labels);
        let matching =
            matches.entry(key).or_insert_with(|| self.matching(class.namespace, class.labels, vocabulary));
        for &at in matching.iter() {
            let (budget, left) = (&self.budgets[at as usize], &mut left[at as usize]);
            if budget.disrupted.contains(&pod) {
                continue;
            }
            if left.0 != *count {
                *left = (*count, budget.allowed);
            }
            left.1 -= 1;
            if left.1 < 0 {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::fake::for_each_seed;
    use crate::input::LabelSelectorInput;
    use crate::testkit::{PodParts, pod};
    use crate::world::World;

    /// Budgets come, change and go while counts go on; what is remembered of them never shows.
    #[test]
    fn budgets_matched_once_per_label_set_count_as_if_matched_for_every_victim() {
        let name = "budgets_matched_once_per_label_set_count_as_if_matched_for_every_victim";
        for_each_seed(name, 300, |rng| {
            let mut world = World::default();
            let mut kept = Allowances::default();
            let apps = ["a", "b", "c"];
            for _ in 0..20 {
                let name = rng.range(0..=4).to_string();
                if rng.chance(20) {
                    world.remove_budget("default", &name);
                } else {
                    let app = [("app".to_owned(), (*rng.pick(&apps)).to_owned())];
                    let selector = LabelSelectorInput {
                        match_labels: if rng.chance(90) { app.into() } else { Default::default() },
                        ..LabelSelectorInput::default()
                    };
                    let input = DisruptionBudgetInput {
                        namespace: "default".to_owned(),
                        name,
                        selector: rng.chance(90).then_some(selector),
                        disruptions_allowed: i32::try_from(rng.range(0..=3)).expect("a few"),
                        ..DisruptionBudgetInput::default()
                    };
                    world.upsert_budget(&input, &[PodUid(rng.range(0..=5) as u64)]);
                }
                let mut fresh = Allowances::default();
                kept.begin(world.budgets());
                fresh.begin(world.budgets());
                for uid in 0..6 {
                    let app = *rng.pick(&apps);
                    let victim = Arc::new(pod().label("app", app));
                    let class = world.compile(&victim);
                    let exceeds = |allowances: &mut Allowances| {
                        let class = world.class(class);
                        world.budgets().is_exceeded(PodUid(uid), class, allowances, &world.vocabulary)
                    };
                    // Who remembers nothing matches every budget.
                    fresh.matches.clear();
                    assert_eq!(exceeds(&mut kept), exceeds(&mut fresh));
                }
            }
        });
    }
}
