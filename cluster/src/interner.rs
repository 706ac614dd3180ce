//! Strings that get a small number each. A number never goes stale: when nothing has the string any
//! more it is forgotten, and should it come back it gets another number.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

/// A string that has a number.
#[derive(Clone, Debug)]
struct Known {
    text: Arc<str>,
    /// Asked for since the last sweep: whoever has its number may be about to use it.
    is_touched: bool,
}

/// A table of distinct strings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interner {
    numbers: FxHashMap<Arc<str>, u32>,
    texts: FxHashMap<u32, Known>,
    next: u32,
    /// What a string that is forgotten reads as.
    forgotten: Arc<str>,
}

/// How often the table itself holds a string.
const OWN_COUNT: usize = 2;

impl Interner {
    /// The number of `text`, given out now if it is new.
    pub(crate) fn intern(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            self.texts.get_mut(&number).expect("both maps agree").is_touched = true;
            return number;
        }
        let number = self.next;
        self.next = number.checked_add(1).expect("fewer than 2^32 distinct strings");
        let text: Arc<str> = Arc::from(text);
        self.texts.insert(number, Known { text: Arc::clone(&text), is_touched: true });
        self.numbers.insert(text, number);
        number
    }

    /// The number of `text`, if it has one.
    pub(crate) fn find(&self, text: &str) -> Option<u32> {
        self.numbers.get(text).copied()
    }

    /// The string behind a number this table gave out; empty if it is forgotten.
    pub(crate) fn text(&self, number: u32) -> &Arc<str> {
        self.texts.get(&number).map_or(&self.forgotten, |known| &known.text)
    }

    /// Whether the string of a number is forgotten. A comparison for as long as none is.
    #[inline]
    pub(crate) fn is_forgotten(&self, number: u32) -> bool {
        self.texts.len() < self.next as usize && !self.texts.contains_key(&number)
    }

    /// All strings, in no order.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &Arc<str>> {
        self.numbers.keys()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    /// How many there ever were.
    pub(crate) fn given_out(&self) -> u64 {
        u64::from(self.next)
    }

    /// Forgets strings that are not in use: neither named here, nor held by somebody outside, nor
    /// asked for since the last time.
    pub(crate) fn sweep(&mut self, used: &FxHashSet<u32>) {
        let Interner { numbers, texts, .. } = self;
        texts.retain(|number, known| {
            let is_held = Arc::strong_count(&known.text) > OWN_COUNT;
            let stays = std::mem::take(&mut known.is_touched) || is_held || used.contains(number);
            if !stays {
                numbers.remove(&known.text);
            }
            stays
        });
        texts.shrink_to(2 * texts.len());
        numbers.shrink_to(2 * numbers.len());
    }

    /// Heap bytes, counted from capacities.
    pub(crate) fn memory_bytes(&self) -> usize {
        // One control byte per hash map slot.
        let by_text = size_of::<(Arc<str>, u32)>() + 1;
        let by_number = size_of::<(u32, Known)>() + 1;
        self.numbers.keys().map(|text| text.len() + 2 * size_of::<usize>()).sum::<usize>()
            + self.texts.capacity() * by_number
            + self.numbers.capacity() * by_text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_keeps_its_number() {
        let mut interner = Interner::default();
        let first = interner.intern("a");
        assert_eq!(interner.intern("b"), first + 1);
        assert_eq!(interner.intern("a"), first);
        assert_eq!(interner.find("c"), None);
        assert_eq!(&**interner.text(first), "a");
    }

    #[test]
    fn unreferenced_string_is_dropped_and_its_number_not_reused() {
        let mut interner = Interner::default();
        let [used, held, gone] = ["used", "held", "gone"].map(|text| interner.intern(text));
        let pin = Arc::clone(interner.text(held));
        let marks: FxHashSet<u32> = [used].into_iter().collect();
        interner.sweep(&marks);
        assert_eq!(interner.len(), 3, "whoever has just asked may be about to use it");
        interner.sweep(&marks);
        assert!(interner.is_forgotten(gone) && !interner.is_forgotten(used) && !interner.is_forgotten(held));
        assert_eq!((&**interner.text(gone), interner.find("gone")), ("", None));
        assert_eq!((interner.find("used"), interner.find(&pin)), (Some(used), Some(held)));
        let again = interner.intern("gone");
        assert_ne!(again, gone);
        drop(pin);
        interner.sweep(&marks);
        interner.sweep(&marks);
        assert_eq!(interner.len(), 1);
    }
}
