//! Callgrind's output files: instructions by function, and which function changed.
//!
//! The format (valgrind manual, "Callgrind Format Specification"): `fn=(7) name` begins a function
//! and names it the first time, a line of numbers is a position and its costs, and the line after
//! `calls=` is the inclusive cost of a call, which belongs to the callee. `fl=`, `fi=` and `fe=`
//! say which file the lines after them are of: an optimised function holds inlined code of many.

use std::collections::{BTreeMap, BTreeSet};

use crate::compare::{ComparedMetric, Row};
use crate::stats::{Fence, Verdict};

use super::INSTRUCTION_FENCE;

/// Instructions of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstructionCounts {
    /// All of them.
    pub total: u64,
    /// By function and by the file that the code was inlined from, their own only.
    pub by_function: BTreeMap<Place, u64>,
}

/// A function, and the file of the code in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Its demangled name.
    pub function: String,
    /// The source file, without the folder it was built in.
    pub file: String,
}

/// How one function's own instructions changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionChange {
    /// Its demangled name.
    pub function: String,
    /// Before.
    pub base: u64,
    /// After.
    pub head: u64,
    /// Files whose code in it grew, and by how much; the most first.
    pub files: Vec<(String, u64)>,
}

impl InstructionCounts {
    /// Parses a callgrind file.
    #[must_use]
    pub fn parse(text: &str) -> Option<InstructionCounts> {
        let mut counts = InstructionCounts::default();
        let (mut functions, mut files) = (BTreeMap::new(), BTreeMap::new());
        let (mut positions, mut event) = (1, None);
        let mut place = Place { function: "(unknown)".to_owned(), file: "(unknown)".to_owned() };
        let mut is_call_cost = false;
        for line in text.lines() {
            if let Some(list) = line.strip_prefix("events:") {
                event = list.split_whitespace().position(|name| name == "Ir");
            } else if let Some(list) = line.strip_prefix("positions:") {
                positions = list.split_whitespace().count();
            } else if let Some((key, name)) = line.split_once('=').filter(|(key, _)| key.len() <= 5) {
                // A callee's names may be given here for the first time.
                match key {
                    "fn" => place.function = plain_name(resolve(name, &mut functions)),
                    "cfn" => drop(resolve(name, &mut functions)),
                    "fl" | "fi" | "fe" => place.file = plain_file(resolve(name, &mut files)),
                    "cfi" | "cfl" => drop(resolve(name, &mut files)),
                    "calls" => is_call_cost = true,
                    _ => {}
                }
            } else if line.starts_with(['+', '-', '*'])
                || line.starts_with(|first: char| first.is_ascii_digit())
            {
                let cost =
                    line.split_whitespace().nth(positions + event?).and_then(|cost| cost.parse::<u64>().ok());
                if !std::mem::take(&mut is_call_cost) {
                    let cost = cost.unwrap_or(0);
                    counts.total += cost;
                    *counts.by_function.entry(place.clone()).or_default() += cost;
                }
            }
        }
        event.map(|_| counts)
    }

    /// Functions whose own instructions differ, the largest growth first.
    #[must_use]
    pub fn changes_to(&self, head: &InstructionCounts) -> Vec<FunctionChange> {
        let mut by_function: BTreeMap<&str, FunctionChange> = BTreeMap::new();
        for place in self.by_function.keys().chain(head.by_function.keys()).collect::<BTreeSet<_>>() {
            let of = |counts: &InstructionCounts| counts.by_function.get(place).copied().unwrap_or(0);
            let change = by_function.entry(&place.function).or_insert_with(|| FunctionChange {
                function: place.function.clone(),
                base: 0,
                head: 0,
                files: Vec::new(),
            });
            change.base += of(self);
            change.head += of(head);
            if of(self) < of(head) {
                change.files.push((place.file.clone(), of(head) - of(self)));
            }
        }
        let mut changes: Vec<FunctionChange> =
            by_function.into_values().filter(|change| change.base != change.head).collect();
        for change in &mut changes {
            change.files.sort_by_key(|(_, growth)| std::cmp::Reverse(*growth));
        }
        // Stable: equal growth stays in the order of names.
        changes.sort_by_key(|change| std::cmp::Reverse(i128::from(change.head) - i128::from(change.base)));
        changes
    }
}

/// `(7) name` names 7, `(7)` means it.
fn resolve<'a>(text: &'a str, names: &mut BTreeMap<&'a str, &'a str>) -> &'a str {
    match text.split_once(' ') {
        Some((id, name)) if id.starts_with('(') => {
            names.insert(id, name);
            name
        }
        _ => names.get(text).copied().unwrap_or(text),
    }
}

/// Without the hash that a build puts behind a symbol, and without recursion marks.
fn plain_name(name: &str) -> String {
    let name = name.split('\'').next().unwrap_or(name);
    match name.rsplit_once("::h") {
        Some((front, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            front.to_owned()
        }
        _ => name.to_owned(),
    }
}

/// The file below the crate's folder: builds are made in different places.
fn plain_file(file: &str) -> String {
    let cut = ["/registry/src/", "/library/"].iter().find_map(|mark| file.split_once(mark));
    let file = cut.map_or(file, |(_, below)| below);
    file.trim_start_matches("/schedlab/").to_owned()
}

/// A row a kernel that both have. A kernel that grew names the functions that did.
#[must_use]
pub fn instruction_rows(
    base: &BTreeMap<String, InstructionCounts>,
    head: &BTreeMap<String, InstructionCounts>,
) -> Vec<Row> {
    let fence = Fence::given(INSTRUCTION_FENCE);
    let row = |(kernel, base): (&String, &InstructionCounts)| {
        let head = head.get(kernel)?;
        let metric = ComparedMetric::cost("instructions", "instructions");
        let mut row = Row::exact(kernel, metric, base.total as f64, head.total as f64, fence);
        if row.verdict == Verdict::Worse {
            row.note = blame(base, head);
        }
        Some(row)
    };
    base.iter().filter_map(row).collect()
}

/// The functions that account for the growth, at most three.
fn blame(base: &InstructionCounts, head: &InstructionCounts) -> Option<String> {
    let describe = |change: &FunctionChange| {
        let file = change.files.first().map(|(file, _)| format!(", most of it from {file}"));
        format!(
            "{} +{} instructions ({} to {}{})",
            change.function,
            change.head - change.base,
            change.base,
            change.head,
            file.unwrap_or_default()
        )
    };
    let changes = base.changes_to(head);
    let grown: Vec<String> =
        changes.iter().filter(|change| change.base < change.head).take(3).map(describe).collect();
    (!grown.is_empty()).then(|| format!("slower: {}", grown.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
version: 1
creator: callgrind-3.22.0
positions: line
events: Ir Dr

ob=(1) /bench
fl=(1) /schedlab/core/src/lib.rs
fn=(1) core::filter::h0123456789abcdef
10 5 1
fi=(3) /rustc/1/library/core/src/slice.rs
+1 7 2
fe=(1)
cfi=(2) other.rs
cfn=(2) core::score'2
calls=3 20
* 100 9
-2 1 0

fl=(2)
fn=(2)
20 90 3
fn=(1)
12 2 0
totals: 105 6
";

    #[test]
    fn self_costs_are_summed_and_call_costs_left_to_the_callee() {
        let counts = InstructionCounts::parse(FILE).expect("callgrind");
        assert_eq!(counts.total, 105);
        let place = |function: &str, file: &str| Place { function: function.into(), file: file.into() };
        assert_eq!(
            counts.by_function,
            BTreeMap::from([
                (place("core::filter", "core/src/lib.rs"), 6),
                (place("core::filter", "core/src/slice.rs"), 7),
                (place("core::filter", "other.rs"), 2),
                (place("core::score", "other.rs"), 90),
            ])
        );
        assert_eq!(InstructionCounts::parse("positions: line\n1 2\n"), None);
    }

    #[test]
    fn the_function_that_grew_is_named() {
        let base = InstructionCounts::parse(FILE).expect("callgrind");
        let head = InstructionCounts::parse(&FILE.replace("20 90 3", "20 95 3").replace("+1 7 2", "+1 6 2"))
            .expect("callgrind");
        let rows = |head: &InstructionCounts| {
            let by =
                |counts: &InstructionCounts| BTreeMap::from([("kernels/filter".to_owned(), counts.clone())]);
            instruction_rows(&by(&base), &by(head))
        };
        let worse = &rows(&head)[0];
        assert_eq!(worse.verdict, Verdict::Worse);
        let blamed = "slower: core::score +5 instructions (90 to 95, most of it from other.rs)";
        assert_eq!(worse.note.as_deref(), Some(blamed));
        let same = &rows(&base)[0];
        assert_eq!((same.verdict, same.note.as_deref()), (Verdict::Unchanged, None));
        assert_eq!(base.changes_to(&head).len(), 2);
    }

    #[test]
    fn a_fifth_of_a_percent_is_the_limit() {
        let counts =
            |total| InstructionCounts { total, by_function: BTreeMap::from([(Place::default(), total)]) };
        let verdict = |head| {
            let by = |total| BTreeMap::from([("k".to_owned(), counts(total))]);
            instruction_rows(&by(100_000), &by(head))[0].verdict
        };
        assert_eq!(verdict(100_199), Verdict::Unchanged);
        assert_eq!(verdict(100_201), Verdict::Worse);
        assert_eq!(verdict(99_700), Verdict::Better);
    }
}
