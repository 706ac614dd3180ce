//! Giving back what nothing refers to any more: names, label sets, classes, node ids, claims.
//!
//! Ids are plain numbers without a count of who holds them, so that the scheduling cycle pays nothing
//! for them. Once in a while, between two events, all that is in use is marked from the roots, and
//! the rest is swept; its ids are given out again:
//!
//! ```text
//! pods, nominations, queue, binding cycles, calls, nodes ──▶ classes, node ids
//!   ──▶ label sets, taints, images, resources ──▶ strings
//! ```
//!
//! What keeps ids beyond an event without being a root (the engine's entries, topology counters) is
//! dropped and made anew. Whoever keeps ids outside asks [`Scheduler::epoch`].
//!
//! When: the cost is that of looking at everything once, so it is paid when about as much has come
//! or gone since the last time; see [`Pressure`].
//!
//! [`Scheduler::epoch`]: crate::scheduler::Scheduler::epoch

use crate::ids::{ClaimId, ClassId, ImageSetId, LabelSetId, NodeId, Symbol, TaintSetId, VolumeId};
use crate::resources::{Amounts, ScalarId};

/// A set of small numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// Adds a number.
    #[inline]
    pub(crate) fn insert(&mut self, at: usize) {
        let word = at / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (at % 64);
    }

    /// Takes a number out.
    #[inline]
    pub(crate) fn remove(&mut self, at: usize) {
        if let Some(word) = self.0.get_mut(at / 64) {
            *word &= !(1 << (at % 64));
        }
    }

    /// Whether it is in.
    #[inline]
    pub(crate) fn contains(&self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 != 0)
    }

    /// Empties the set, and keeps no memory.
    pub(crate) fn clear(&mut self) {
        self.0 = Vec::new();
    }
}

/// What was interned while something was made: it lives as long as that does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uses {
    pub(crate) symbols: Box<[Symbol]>,
    pub(crate) label_sets: Box<[LabelSetId]>,
    pub(crate) scalars: Box<[ScalarId]>,
}

/// What is in use.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    pub(crate) symbols: Bits,
    pub(crate) label_sets: Bits,
    pub(crate) taint_sets: Bits,
    pub(crate) image_sets: Bits,
    pub(crate) scalars: Bits,
    pub(crate) classes: Bits,
    pub(crate) nodes: Bits,
    pub(crate) claims: Bits,
    pub(crate) volumes: Bits,
}

impl Marks {
    pub(crate) fn symbol(&mut self, id: Symbol) {
        self.symbols.insert(id.index());
    }

    pub(crate) fn label_set(&mut self, id: LabelSetId) {
        self.label_sets.insert(id.index());
    }

    pub(crate) fn taint_set(&mut self, id: TaintSetId) {
        self.taint_sets.insert(id.index());
    }

    pub(crate) fn image_set(&mut self, id: ImageSetId) {
        self.image_sets.insert(id.index());
    }

    pub(crate) fn class(&mut self, id: ClassId) {
        self.classes.insert(id.index());
    }

    pub(crate) fn node(&mut self, id: NodeId) {
        self.nodes.insert(id.index());
    }

    pub(crate) fn claim(&mut self, id: ClaimId) {
        self.claims.insert(id.index());
    }

    pub(crate) fn volume(&mut self, id: VolumeId) {
        self.volumes.insert(id.index());
    }

    pub(crate) fn amounts(&mut self, amounts: &Amounts) {
        amounts.scalars.iter().for_each(|&(id, _)| self.scalars.insert(id.index()));
    }

    pub(crate) fn uses(&mut self, uses: &Uses) {
        uses.symbols.iter().for_each(|&id| self.symbol(id));
        uses.label_sets.iter().for_each(|&id| self.label_set(id));
        uses.scalars.iter().for_each(|id| self.scalars.insert(id.index()));
    }
}

/// Puts ids that became free behind those that are, lowest first in line, and says how long the table
/// needs to be.
pub(crate) fn give_back(free: &mut Vec<u32>, freed: Vec<u32>, mut len: usize) -> usize {
    free.extend(freed);
    free.sort_unstable();
    while free.last().is_some_and(|&last| last as usize + 1 == len) {
        free.pop();
        len -= 1;
    }
    free.reverse();
    debug_assert!(free.is_sorted_by(|one, next| next < one), "a number is free once, the lowest last");
    debug_assert!(
        free.first().is_none_or(|&highest| (highest as usize) < len),
        "free numbers are of the table"
    );
    free.shrink_to(2 * free.len());
    len
}

/// Cuts a table, and its memory if most of that is for nothing.
pub(crate) fn cut<T>(table: &mut Vec<T>, len: usize) {
    debug_assert!(len <= table.len(), "a table is cut, not grown");
    table.truncate(len);
    if table.capacity() > 2 * len + 64 {
        table.shrink_to(len);
    }
}

/// How few things are not worth a look: about a megabyte.
const FLOOR: u64 = 4096;

/// When to look for what is no longer in use.
///
/// Things that came (`grown`) become garbage when references to them go (`released`). A look costs
/// about as much as there are things and pods: it is due when a third as many references went, or
/// when several times as many things came. Looks that find little, because pods of the same
/// templates come and go, become rare.
#[derive(Clone, Copy, Debug)]
pub struct Pressure {
    floor: u64,
    released: u64,
    /// When to think about it next.
    look_at: u64,
    /// Things that were in use at the last look.
    live: u64,
    /// How many looks in a row found little.
    vain: u32,
}

impl Default for Pressure {
    fn default() -> Self {
        Pressure { floor: FLOOR, released: 0, look_at: FLOOR / 64, live: 0, vain: 0 }
    }
}

impl Pressure {
    /// Looks sooner, or later.
    pub fn set_floor(&mut self, things: u64) {
        self.floor = things;
        self.look_at = self.released + things / 64;
    }

    /// Something gave up a reference.
    #[inline]
    pub fn release(&mut self) {
        self.released += 1;
    }

    /// It is time to think about it.
    #[inline]
    #[must_use]
    pub fn is_worth_a_thought(&self) -> bool {
        self.released > self.look_at
    }

    /// Whether a look is due, with so many new things, and so many pods.
    pub fn is_due(&mut self, grown: u64, pods: u64) -> bool {
        self.look_at = self.released + self.floor / 64;
        let vain = if grown > self.floor.max(self.live / 4) { 0 } else { self.vain };
        let third = (self.live + grown + pods) / 3;
        let went = self.released >= self.floor.max(third << vain);
        let came = grown > self.floor + 4 * (self.live + pods);
        went || came
    }

    /// So many things were looked at, and so many of them are in use.
    pub fn looked(&mut self, things: u64, live: u64) {
        let found_little = things.saturating_sub(live) * 8 < things;
        let vain = if found_little { (self.vain + 1).min(20) } else { 0 };
        *self = Pressure { released: 0, look_at: self.floor / 64, live, vain, floor: self.floor };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_ids_at_the_end_shorten_the_table_and_the_lowest_is_next() {
        let mut free = vec![7, 2];
        assert_eq!(give_back(&mut free, vec![9, 8, 4], 10), 7);
        assert_eq!(free, [4, 2]);
    }

    #[test]
    fn churn_of_one_template_rarely_triggers_reclaim() {
        let mut pressure = Pressure::default();
        let (mut looks, mut grown) = (0, 20_000);
        for _ in 0..10_000_000 {
            pressure.release();
            if pressure.is_worth_a_thought() && pressure.is_due(grown, 5000) {
                looks += 1;
                pressure.looked(20_000, 20_000);
                grown = 0;
            }
        }
        assert!(looks <= 12, "{looks}");
    }

    #[test]
    fn churn_of_distinct_specs_is_reclaimed_at_once() {
        let mut pressure = Pressure::default();
        let (mut live, mut grown) = (0, 40_000);
        for gone in 1..=20_000u64 {
            pressure.release();
            let pods = 20_000 - gone;
            if pressure.is_worth_a_thought() && pressure.is_due(grown, pods) {
                let things = live + grown;
                (live, grown) = (2 * pods, 0);
                pressure.looked(things, live);
            }
        }
        assert!(live + grown < 40_000 / 4, "{} things are left", live + grown);
    }
}
