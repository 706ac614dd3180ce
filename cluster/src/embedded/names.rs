//! Pod names: counted behind a prefix, or given.
//!
//! A generated name is its prefix and a number, so a pod is found by its name without a map
//! entry of its own: the number leads to a run of pods that were created one after the other.
//!
//! ```text
//!   "pod-17" ──> prefix "pod-", number 17 ──> run {first number 10, first uid 42} ──> uid 49
//! ```
//!
//! Differs: upstream draws five random characters. The counter is of the prefix, in all
//! namespaces together, and jumps over names that were given explicitly, so that no generated
//! name is ever taken. A prefix that ends in a digit gets a `-`: `a1` and 0 must not meet `a` and
//! 10, and a name has one reading only
//! (`a_prefix_that_ends_in_a_digit_gets_a_dash`, `counters_step_over_given_names`).

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use schedlab_core::ids::PodUid;

use crate::api::{NameId, NamespaceId, PodName};
use crate::interner::Interner;

/// Longer numbers are no generated ones: the counter does not get there.
const NUMBER_DIGITS_MAX: usize = 9;

/// Pods that were created one after the other with one prefix.
#[derive(Clone, Copy, Debug)]
struct Run {
    first_number: u32,
    count: u32,
    first_uid: PodUid,
}

impl Run {
    /// Leaves out pods at the beginning that are gone; whether there is one left.
    fn trim(&mut self, is_live: impl Fn(PodUid) -> bool) -> bool {
        while self.count > 0 && !is_live(self.first_uid) {
            self.first_number += 1;
            self.first_uid.0 += 1;
            self.count -= 1;
        }
        self.count > 0
    }
}

#[derive(Clone, Debug, Default)]
struct Prefix {
    next_number: u32,
    /// Invariant: ascending, without overlap.
    runs: Vec<Run>,
}

/// The names of all pods, and the way back from a name to a pod.
#[derive(Clone, Debug, Default)]
pub(super) struct PodNames {
    texts: Interner,
    /// Those texts that numbers are counted behind.
    prefixes: FxHashMap<NameId, Prefix>,
    given: FxHashMap<(NamespaceId, NameId), PodUid>,
}

impl PodNames {
    /// The id of a `generateName`.
    pub(super) fn prefix(&mut self, prefix: &str) -> NameId {
        if prefix.ends_with(|last: char| last.is_ascii_digit()) {
            return self.prefix(&format!("{prefix}-"));
        }
        let id = NameId(self.texts.intern(prefix));
        let texts = &self.texts;
        self.prefixes.entry(id).or_insert_with(|| {
            let readings = texts.texts().filter_map(|text| split(text));
            let taken = readings.filter(|&(found, _)| found == prefix).map(|(_, number)| number).max();
            Prefix { next_number: taken.map_or(0, |number| number + 1), runs: Vec::new() }
        });
        id
    }

    /// The id of a name that somebody chose. The counter of its prefix steps over it.
    pub(super) fn whole(&mut self, name: &str) -> NameId {
        if let Some((prefix, number)) = split(name)
            && let Some(id) = self.texts.find(prefix)
            && let Some(counter) = self.prefixes.get_mut(&NameId(id))
        {
            counter.next_number = counter.next_number.max(number + 1);
        }
        NameId(self.texts.intern(name))
    }

    /// Takes `count` numbers behind a prefix for pods from `first_uid` on. Returns the first.
    pub(super) fn take_numbers(&mut self, prefix: NameId, count: u32, first_uid: PodUid) -> u32 {
        let prefix = self.prefixes.get_mut(&prefix).expect("a template keeps its prefix");
        let first_number = prefix.next_number;
        prefix.next_number = first_number.checked_add(count).expect("fewer than 2^32 names of a prefix");
        if let Some(last) = prefix.runs.last_mut()
            && last.first_number + last.count == first_number
            && last.first_uid.0 + u64::from(last.count) == first_uid.0
        {
            last.count += count;
        } else {
            prefix.runs.push(Run { first_number, count, first_uid });
        }
        first_number
    }

    /// Notes the pod that has a given name.
    pub(super) fn put_given(&mut self, namespace: NamespaceId, name: NameId, uid: PodUid) {
        self.given.insert((namespace, name), uid);
    }

    /// Frees a name. Generated names are not used again.
    pub(super) fn remove(&mut self, namespace: NamespaceId, name: PodName) {
        if name.number == PodName::NO_NUMBER {
            self.given.remove(&(namespace, name.prefix));
        }
    }

    /// The pods that may have this name; the caller asks their rows.
    pub(super) fn candidates(&self, namespace: NamespaceId, name: &str) -> impl Iterator<Item = PodUid> {
        let given = self.texts.find(name).and_then(|id| self.given.get(&(namespace, NameId(id)))).copied();
        let generated = split(name).and_then(|(prefix, number)| {
            let prefix = self.prefixes.get(&NameId(self.texts.find(prefix)?))?;
            let after = prefix.runs.partition_point(|run| run.first_number <= number);
            let run = prefix.runs.get(after.checked_sub(1)?)?;
            let offset = number - run.first_number;
            (offset < run.count).then(|| PodUid(run.first_uid.0 + u64::from(offset)))
        });
        given.into_iter().chain(generated)
    }

    /// The text of a name.
    pub(super) fn text(&self, name: PodName) -> String {
        let prefix = self.texts.text(name.prefix.0);
        if name.number == PodName::NO_NUMBER {
            return prefix.to_string();
        }
        format!("{prefix}{}", name.number)
    }

    /// The text of a name without its number.
    pub(super) fn prefix_text(&self, name: PodName) -> &Arc<str> {
        self.texts.text(name.prefix.0)
    }

    /// How many texts there are.
    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// How many there ever were.
    pub(super) fn given_out(&self) -> u64 {
        self.texts.given_out()
    }

    /// Forgets names that no pod has: neither those named here, nor what templates hold. Runs of pods
    /// that are gone go as well. A prefix that is forgotten begins to count anew.
    pub(super) fn sweep(&mut self, used: &FxHashSet<u32>, is_live: impl Fn(PodUid) -> bool) {
        for prefix in self.prefixes.values_mut() {
            prefix.runs.retain_mut(|run| run.trim(&is_live));
            prefix.runs.shrink_to(2 * prefix.runs.len());
        }
        self.texts.sweep(used);
        let texts = &self.texts;
        self.prefixes.retain(|id, _| !texts.is_forgotten(id.0));
        self.prefixes.shrink_to(2 * self.prefixes.len());
        self.given.shrink_to(2 * self.given.len());
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let runs: usize = self.prefixes.values().map(|prefix| prefix.runs.capacity()).sum();
        self.texts.memory_bytes()
            + runs * size_of::<Run>()
            + self.prefixes.capacity() * (size_of::<(NameId, Prefix)>() + 1)
            + self.given.capacity() * (size_of::<((NamespaceId, NameId), PodUid)>() + 1)
    }
}

/// A name as a prefix that ends in no digit, and a number without leading zeros.
fn split(name: &str) -> Option<(&str, u32)> {
    let prefix = name.trim_end_matches(|last: char| last.is_ascii_digit());
    let number = &name[prefix.len()..];
    let is_canonical = number == "0" || !number.starts_with('0');
    if !is_canonical || NUMBER_DIGITS_MAX < number.len() {
        return None;
    }
    Some((prefix, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACE: NamespaceId = NamespaceId(0);

    fn found(names: &PodNames, name: &str) -> Vec<u64> {
        names.candidates(SPACE, name).map(|uid| uid.0).collect()
    }

    #[test]
    fn name_splits_into_prefix_and_number_in_one_way() {
        let cases = [
            ("pod-17", Some(("pod-", 17))),
            ("pod-0", Some(("pod-", 0))),
            ("pod-07", None),
            ("17", Some(("", 17))),
            ("pod", None),
            ("", None),
            ("pod-999999999", Some(("pod-", 999_999_999))),
            ("pod-1000000000", None),
        ];
        for (name, expected) in cases {
            assert_eq!(split(name), expected, "case: {name}");
        }
    }

    #[test]
    fn a_prefix_that_ends_in_a_digit_gets_a_dash() {
        let mut names = PodNames::default();
        let id = names.prefix("a1");
        assert_eq!(id, names.prefix("a1-"), "both count together");
        assert_eq!(names.text(PodName { prefix: id, number: 0 }), "a1-0");
    }

    #[test]
    fn generated_name_finds_its_pod() {
        let mut names = PodNames::default();
        let (web, db) = (names.prefix("web-"), names.prefix("db-"));
        assert_eq!(names.take_numbers(web, 10, PodUid(1)), 0);
        assert_eq!(names.take_numbers(db, 2, PodUid(11)), 0);
        assert_eq!(names.take_numbers(web, 5, PodUid(13)), 10);
        assert_eq!(found(&names, "web-9"), [10]);
        assert_eq!(found(&names, "web-14"), [17]);
        assert_eq!(found(&names, "web-15"), [] as [u64; 0]);
        assert_eq!(found(&names, "db-1"), [12]);
        assert_eq!(names.text(PodName { prefix: web, number: 14 }), "web-14");
    }

    #[test]
    fn adjacent_runs_of_names_are_merged() {
        let mut names = PodNames::default();
        let web = names.prefix("web-");
        for uid in 1..=100 {
            names.take_numbers(web, 1, PodUid(uid));
        }
        assert_eq!(names.prefixes[&web].runs.len(), 1);
        assert_eq!(found(&names, "web-99"), [100]);
    }

    #[test]
    fn name_runs_of_deleted_pods_are_dropped_and_numbering_continues() {
        let mut names = PodNames::default();
        let (web, db) = (names.prefix("web-"), names.prefix("db-"));
        for uid in (1..=200).step_by(2) {
            names.take_numbers(web, 1, PodUid(uid));
            names.take_numbers(db, 1, PodUid(uid + 1));
        }
        let used = [web.0, db.0].into_iter().collect();
        names.sweep(&used, |uid| uid.0 == 181);
        assert_eq!((names.prefixes[&web].runs.len(), names.prefixes[&db].runs.len()), (1, 0));
        assert_eq!(found(&names, "web-90"), [181]);
        assert_eq!(names.take_numbers(web, 1, PodUid(201)), 100);
    }

    #[test]
    fn counters_step_over_given_names() {
        let mut names = PodNames::default();
        names.whole("web-3");
        let web = names.prefix("web-");
        assert_eq!(names.take_numbers(web, 1, PodUid(1)), 4);
        names.whole("web-7");
        assert_eq!(names.take_numbers(web, 1, PodUid(2)), 8);
    }

    #[test]
    fn a_name_that_becomes_a_prefix_steps_over_older_names() {
        let mut names = PodNames::default();
        names.whole("web-3");
        names.whole("web-");
        let web = names.prefix("web-");
        assert_eq!(names.take_numbers(web, 1, PodUid(1)), 4);
    }

    #[test]
    fn a_given_name_is_freed_with_its_pod() {
        let mut names = PodNames::default();
        let id = names.whole("web");
        names.put_given(SPACE, id, PodUid(5));
        assert_eq!(found(&names, "web"), [5]);
        names.remove(SPACE, PodName { prefix: id, number: PodName::NO_NUMBER });
        assert_eq!(found(&names, "web"), [] as [u64; 0]);
    }
}
