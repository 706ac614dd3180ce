//! Strings that get a small number each. The table only grows, so a number never goes stale.

use std::sync::Arc;

use rustc_hash::FxHashMap;

/// A grow-only table of distinct strings.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    numbers: FxHashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
}

impl Interner {
    /// The number of `text`, given out now if it is new.
    pub(crate) fn intern(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = u32::try_from(self.texts.len()).expect("fewer than 2^32 distinct strings");
        let text: Arc<str> = Arc::from(text);
        self.texts.push(Arc::clone(&text));
        self.numbers.insert(text, number);
        number
    }

    /// The number of `text`, if it has one.
    pub(crate) fn find(&self, text: &str) -> Option<u32> {
        self.numbers.get(text).copied()
    }

    /// The string behind a number this table gave out.
    pub(crate) fn text(&self, number: u32) -> &Arc<str> {
        &self.texts[number as usize]
    }

    /// All strings in the order of their numbers.
    pub(crate) fn texts(&self) -> &[Arc<str>] {
        &self.texts
    }

    /// Heap bytes, counted from capacities.
    pub(crate) fn memory_bytes(&self) -> usize {
        let entry = size_of::<(Arc<str>, u32)>() + 1; // One control byte per hash map slot.
        self.texts.iter().map(|text| text.len() + 2 * size_of::<usize>()).sum::<usize>()
            + self.texts.capacity() * size_of::<Arc<str>>()
            + self.numbers.capacity() * entry
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
}
