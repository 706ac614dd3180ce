//! Why a pod fits nowhere, as counts per reason, and upstream's sentence for it.
//!
//! Upstream: framework/types.go `FitError`.

use std::fmt;
use std::sync::Arc;

use crate::framework::status::Reason;
use crate::interner::Vocabulary;

/// Why no node fits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// Nodes in the list.
    pub node_count: usize,
    /// PreFilter's message when it rejected the pod as such.
    pub pre_filter: Option<Reason>,
    /// How many nodes each reason holds for. A node may have several reasons.
    pub reasons: Vec<(Reason, usize)>,
    /// The plugins that rejected, sorted by name.
    pub plugins: Vec<&'static str>,
    /// An extender failed, so there is no verdict on the nodes: an error, not an answer. No
    /// preemption is tried.
    pub error: Option<Arc<str>>,
    /// Rows that eviction cannot help although no filter says so: extenders ruled them out for
    /// good or dropped them without a word, or the search ended before them.
    pub out_of_reach: Vec<u32>,
    /// Rows that passed every filter and that an extender rejected: eviction might help there.
    pub within_reach: Vec<u32>,
    /// Nodes that eviction might help: whose first rejection says `Unschedulable`.
    pub resolvable_count: usize,
}

impl Diagnosis {
    /// Adds `count` nodes to a reason.
    pub fn count(&mut self, reason: Reason, count: usize) {
        match self.reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, total)) => *total += count,
            None => self.reasons.push((reason, count)),
        }
    }

    /// Notes that a plugin rejected.
    pub fn blame(&mut self, plugin: &'static str) {
        if let Err(at) = self.plugins.binary_search(&plugin) {
            self.plugins.insert(at, plugin);
        }
    }

    /// Upstream's sentence: `0/3 nodes are available: 1 Insufficient cpu, 2 Too many pods.`
    /// Reasons are sorted as text, counts included, as upstream sorts them.
    #[must_use]
    pub fn message(&self, vocabulary: &Vocabulary) -> String {
        if let Some(error) = &self.error {
            return error.to_string();
        }
        if self.node_count == 0 {
            return "no nodes available to schedule pods".to_owned();
        }
        if let Some(reason) = &self.pre_filter {
            return format!("0/{} nodes are available: {}.", self.node_count, reason.text(vocabulary));
        }
        let reasons = self.reasons.iter().map(|(reason, count)| (reason.text(vocabulary), *count));
        histogram(self.node_count, reasons)
    }
}

/// Upstream's sentence about nodes of which none will do, from reasons and how many nodes each
/// holds for.
pub(crate) fn histogram<T: fmt::Display>(
    node_count: usize,
    reasons: impl Iterator<Item = (T, usize)>,
) -> String {
    let head = format!("0/{node_count} nodes are available:");
    let mut parts: Vec<String> = reasons.map(|(reason, count)| format!("{count} {reason}")).collect();
    if parts.is_empty() {
        return head;
    }
    parts.sort_unstable();
    format!("{head} {}.", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::ResourceKind;

    #[test]
    fn reasons_are_counted_and_sorted_as_text() {
        let mut diagnosis = Diagnosis { node_count: 15, ..Diagnosis::default() };
        diagnosis.count(Reason::Insufficient(ResourceKind::Cpu), 3);
        diagnosis.count(Reason::Text("node(s) had untolerated taint(s)"), 10);
        diagnosis.count(Reason::Insufficient(ResourceKind::Cpu), 2);
        let message = diagnosis.message(&Vocabulary::default());
        assert_eq!(
            message,
            "0/15 nodes are available: 10 node(s) had untolerated taint(s), 5 Insufficient cpu."
        );
    }

    #[test]
    fn pre_filter_rejection_is_the_whole_message() {
        let diagnosis =
            Diagnosis { node_count: 2, pre_filter: Some(Reason::Text("no way")), ..Diagnosis::default() };
        assert_eq!(diagnosis.message(&Vocabulary::default()), "0/2 nodes are available: no way.");
    }

    #[test]
    fn empty_cluster_has_its_own_message() {
        assert_eq!(
            Diagnosis::default().message(&Vocabulary::default()),
            "no nodes available to schedule pods"
        );
    }
}
