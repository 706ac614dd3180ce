//! Callgrind's output files: instructions by function, and which function changed.
//!
//! The format (valgrind manual, "Callgrind Format Specification"): `fn=(7) name` begins a function
//! and names it the first time, a line of numbers is a position and its costs, and the line after
//! `calls=` is the inclusive cost of a call, which belongs to the callee.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::compare::{Metric, Row};
use crate::stats::{Fence, Verdict};

use super::INSTRUCTION_FENCE;

/// Why counts could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CallgrindError {
    /// The system refused.
    #[error("{}: cannot be read: {cause}", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        cause: std::io::Error,
    },
    /// Not a file of callgrind, or one without instructions.
    #[error("{}: not a callgrind file with the event Ir", path.display())]
    NotCallgrind {
        /// The file.
        path: PathBuf,
    },
}

/// Instructions of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstructionCounts {
    /// All of them.
    pub total: u64,
    /// By function, its own only.
    pub by_function: BTreeMap<String, u64>,
}

/// How one function's own instructions changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionChange {
    /// Its demangled name.
    pub name: String,
    /// Before.
    pub base: u64,
    /// After.
    pub head: u64,
}

impl InstructionCounts {
    /// Parses a callgrind file.
    #[must_use]
    pub fn parse(text: &str) -> Option<InstructionCounts> {
        let mut counts = InstructionCounts::default();
        let mut names: BTreeMap<&str, &str> = BTreeMap::new();
        let (mut positions, mut event) = (1, None);
        let mut function = String::from("(unknown)");
        let mut is_call_cost = false;
        for line in text.lines() {
            if let Some(list) = line.strip_prefix("events:") {
                event = list.split_whitespace().position(|name| name == "Ir");
            } else if let Some(list) = line.strip_prefix("positions:") {
                positions = list.split_whitespace().count();
            } else if let Some(name) = line.strip_prefix("fn=") {
                function = plain_name(resolve(name, &mut names));
            } else if let Some(name) = line.strip_prefix("cfn=") {
                // The callee's name may be given here for the first time.
                resolve(name, &mut names);
            } else if line.starts_with("calls=") {
                is_call_cost = true;
            } else if line.starts_with(['+', '-', '*'])
                || line.starts_with(|first: char| first.is_ascii_digit())
            {
                let cost =
                    line.split_whitespace().nth(positions + event?).and_then(|cost| cost.parse::<u64>().ok());
                if !std::mem::take(&mut is_call_cost) {
                    let cost = cost.unwrap_or(0);
                    counts.total += cost;
                    *counts.by_function.entry(function.clone()).or_default() += cost;
                }
            }
        }
        event.map(|_| counts)
    }

    /// Functions whose own instructions differ, the largest growth first.
    #[must_use]
    pub fn changes_to(&self, head: &InstructionCounts) -> Vec<FunctionChange> {
        let names = self.by_function.keys().chain(head.by_function.keys());
        let of = |counts: &InstructionCounts, name: &str| counts.by_function.get(name).copied().unwrap_or(0);
        let mut changes: Vec<FunctionChange> = names
            .map(|name| FunctionChange { name: name.clone(), base: of(self, name), head: of(head, name) })
            .filter(|change| change.base != change.head)
            .collect();
        changes.sort_by_key(|change| {
            (std::cmp::Reverse(i128::from(change.head) - i128::from(change.base)), change.name.clone())
        });
        changes.dedup();
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

/// The counts of every `callgrind.*.out` in and below a directory, by its path there.
pub fn read_counts(dir: &Path) -> Result<BTreeMap<String, InstructionCounts>, CallgrindError> {
    let mut counts = BTreeMap::new();
    collect(dir, dir, &mut counts)?;
    Ok(counts)
}

fn collect(
    root: &Path,
    dir: &Path,
    counts: &mut BTreeMap<String, InstructionCounts>,
) -> Result<(), CallgrindError> {
    let unreadable = |path: &Path, cause| CallgrindError::Read { path: path.to_owned(), cause };
    for entry in fs::read_dir(dir).map_err(|cause| unreadable(dir, cause))? {
        let path = entry.map_err(|cause| unreadable(dir, cause))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() {
            collect(root, &path, counts)?;
        } else if name.starts_with("callgrind.") && name.ends_with(".out") {
            let text = fs::read_to_string(&path).map_err(|cause| unreadable(&path, cause))?;
            let parsed = InstructionCounts::parse(&text)
                .ok_or_else(|| CallgrindError::NotCallgrind { path: path.clone() })?;
            let parent =
                path.parent().and_then(|parent| parent.strip_prefix(root).ok()).unwrap_or(Path::new(""));
            counts.insert(parent.display().to_string(), parsed);
        }
    }
    Ok(())
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
        let metric = Metric::cost("instructions", "instructions");
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
        format!(
            "{} +{} instructions ({} to {})",
            change.name,
            change.head - change.base,
            change.base,
            change.head
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
fl=(1) lib.rs
fn=(1) core::filter::h0123456789abcdef
10 5 1
+1 7 2
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
    fn own_costs_are_summed_and_calls_are_left_to_the_callee() {
        let counts = InstructionCounts::parse(FILE).expect("callgrind");
        assert_eq!(counts.total, 105);
        assert_eq!(
            counts.by_function,
            BTreeMap::from([("core::filter".to_owned(), 15), ("core::score".to_owned(), 90)])
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
        assert_eq!(worse.note.as_deref(), Some("slower: core::score +5 instructions (90 to 95)"));
        let same = &rows(&base)[0];
        assert_eq!((same.verdict, same.note.as_deref()), (Verdict::Unchanged, None));
        assert_eq!(base.changes_to(&head).len(), 2);
    }

    #[test]
    fn a_fifth_of_a_percent_is_the_limit() {
        let counts =
            |total| InstructionCounts { total, by_function: BTreeMap::from([("f".to_owned(), total)]) };
        let verdict = |head| {
            let by = |total| BTreeMap::from([("k".to_owned(), counts(total))]);
            instruction_rows(&by(100_000), &by(head))[0].verdict
        };
        assert_eq!(verdict(100_199), Verdict::Unchanged);
        assert_eq!(verdict(100_201), Verdict::Worse);
        assert_eq!(verdict(99_700), Verdict::Better);
    }
}
