//! What must hold of the engine between two cycles.

use super::{ENTRIES_MAX, Engine, NO_ENTRY};
use crate::snapshot::mask::WORD_BITS;

impl Engine {
    /// Panics where classes, entries and what was noted of their use do not agree.
    pub(crate) fn check(&self) {
        assert!(self.entries.len() <= ENTRIES_MAX, "only so many classes are remembered");
        assert_eq!(self.last_used.len(), self.entries.len(), "it is known when each entry was used last");
        for (class, &at) in self.entry_of_class.iter().enumerate().filter(|(_, at)| **at != NO_ENTRY) {
            assert!((at as usize) < self.entries.len(), "a class has an entry that is there");
            assert_eq!(self.entries[at as usize].class.index(), class, "an entry is found by its own class");
        }
        let known = self.entry_of_class.iter().filter(|&&at| at != NO_ENTRY).count();
        assert_eq!(known, self.entries.len(), "each entry is of one class");
        for (entry, &used) in self.entries.iter().zip(&self.last_used) {
            assert!(used <= self.tick, "an entry was not used later than now");
            entry.check();
        }
        if let Some(batch) = &self.batch {
            batch.check();
        }
    }

    /// How much [`Engine::check`] looks at.
    #[cfg(debug_assertions)]
    pub(crate) fn thing_count(&self) -> u64 {
        self.entries.iter().map(|entry| (entry.words.len() * WORD_BITS) as u64).sum()
    }
}
