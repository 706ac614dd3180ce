//! A short name for what was run, so that two runs of a workload whose file changed in between are
//! not compared.
//!
//! Only what decides the work is part of it: no comments, no sibling workloads. FNV-1a with 64 bits:
//! the same on every machine and in every version, which `std`'s hashers do not promise.

use std::collections::BTreeMap;
use std::fmt::Display;

/// Takes parts and gives sixteen hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Of one text.
    #[must_use]
    pub fn of(text: &str) -> String {
        let mut digest = Digest::default();
        digest.add(text);
        digest.hex()
    }

    /// Takes a part. Where one part ends and the next begins counts.
    pub fn add(&mut self, part: &str) {
        for byte in part.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The digits.
    #[must_use]
    pub fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// Takes a workload of a test case: the case's own lines, and the workload's params.
pub(crate) fn add_workload(digest: &mut Digest, case_text: &str, params: &BTreeMap<String, impl Display>) {
    own_lines(case_text).for_each(|line| digest.add(line));
    for (name, value) in params {
        digest.add(name);
        digest.add(&value.to_string());
    }
}

/// The lines of a test case without comments and without its list of workloads.
fn own_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut workloads_indent = None;
    text.lines().map(str::trim_end).filter(move |line| {
        let trimmed = line.trim_start();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            return false;
        }
        let indent = line.len() - trimmed.len();
        // A list may stand at the indentation of its key.
        if workloads_indent.is_some_and(|key| key < indent || (key == indent && trimmed.starts_with("- "))) {
            return false;
        }
        let is_workloads = trimmed == "workloads:";
        workloads_indent = is_workloads.then_some(indent);
        !is_workloads
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str, pods: u32) -> String {
        let mut digest = Digest::default();
        add_workload(&mut digest, text, &BTreeMap::from([("pods".to_owned(), pods)]));
        digest.hex()
    }

    const CASE: &str = "- name: Case\n  workloadTemplate:\n  - opcode: createPods\n    countParam: $pods\n  \
                        workloads:\n  - name: small\n    params: {pods: 6}\n  labels: [a]\n";

    #[test]
    fn comments_and_sibling_workloads_do_not_count_and_ops_and_params_do() {
        let same = [
            CASE.replace("- name: Case", "# Why we keep it.\n- name: Case"),
            CASE.replace("  labels", "  - name: large\n    params: {pods: 9}\n  labels"),
        ];
        for text in same {
            assert_eq!(digest(&text, 6), digest(CASE, 6), "{text}");
        }
        let other = [
            (CASE.replace("createPods", "createNodes"), 6),
            (CASE.replace("labels: [a]", "featureGates: {A: true}"), 6),
            (CASE.to_owned(), 7),
        ];
        for (text, pods) in other {
            assert_ne!(digest(&text, pods), digest(CASE, 6), "{text}");
        }
    }

    #[test]
    fn digest_is_the_published_one() {
        // FNV-1a of "a" and the end mark, worked out by hand in two steps.
        let step = |state: u64, byte: u64| (state ^ byte).wrapping_mul(0x0100_0000_01b3);
        let wanted = step(step(0xcbf2_9ce4_8422_2325, 0x61), 0xff);
        assert_eq!(Digest::of("a"), format!("{wanted:016x}"));
        assert_ne!(Digest::of("ab"), {
            let mut apart = Digest::default();
            apart.add("a");
            apart.add("b");
            apart.hex()
        });
    }
}
