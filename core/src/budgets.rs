//! Disruption budgets: which victims a budget protects.
//!
//! Upstream: framework/preemption/util.go `FilterVictimsWithPDBViolation`.

use rustc_hash::FxHashMap;

use crate::class::PodClass;
use crate::class::labels::LabelSelector;
use crate::ids::{PodUid, Symbol};
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
            Some(&at) => self.budgets[at] = budget,
            None => {
                self.by_name.insert((namespace, name), self.budgets.len());
                self.budgets.push(budget);
            }
        }
    }

    /// Takes a budget out.
    pub fn remove(&mut self, namespace: Symbol, name: Symbol) {
        let Some(at) = self.by_name.remove(&(namespace, name)) else { return };
        self.budgets.remove(at);
        for other in self.by_name.values_mut().filter(|other| **other > at) {
            *other -= 1;
        }
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

    /// What budgets allow before any victim is counted.
    pub(super) fn allowances(&self, into: &mut Vec<i32>) {
        into.clear();
        into.extend(self.budgets.iter().map(|budget| budget.allowed));
    }

    /// Counts a victim against its budgets; whether one of them is exceeded. A budget whose
    /// selector is empty protects nobody, and a pod without labels is never protected.
    pub(super) fn is_exceeded(
        &self,
        pod: PodUid,
        class: &PodClass,
        allowances: &mut [i32],
        vocabulary: &Vocabulary,
    ) -> bool {
        if vocabulary.labels(class.labels).is_empty() {
            return false;
        }
        for (budget, allowed) in self.budgets.iter().zip(allowances) {
            let concerns = budget.namespace == class.namespace
                && !budget.selector.is_everything()
                && budget.selector.matches(class.labels, vocabulary)
                && !budget.disrupted.contains(&pod);
            if concerns {
                *allowed -= 1;
                if *allowed < 0 {
                    return true;
                }
            }
        }
        false
    }
}
