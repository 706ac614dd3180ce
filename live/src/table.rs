//! Names as numbers.

use std::sync::Arc;

use rustc_hash::FxHashMap;

/// Names that have a number for good. There are as many as nodes, or namespaces, that a cluster ever had.
#[derive(Default)]
pub(crate) struct NameTable {
    numbers: FxHashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
}

impl NameTable {
    /// The number of a name, given out now if it is new.
    pub(crate) fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = u32::try_from(self.texts.len()).expect("fewer than 2^32 names");
        let text: Arc<str> = Arc::from(name);
        self.texts.push(Arc::clone(&text));
        self.numbers.insert(text, number);
        number
    }

    /// The number of a name that has one.
    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// The name behind a number that this table gave out.
    pub(crate) fn text(&self, number: usize) -> Arc<str> {
        self.texts.get(number).map_or_else(|| Arc::from(""), Arc::clone)
    }
}
