//! What a scheduler decides about one pod, and whether two decisions are the same.

use std::collections::BTreeSet;
use std::fmt;

/// What became of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConformDecision {
    /// The node it was bound to in the end, also after others had to go.
    pub node: Option<String>,
    /// The message of the first `PodScheduled=False`, if there was one.
    pub message: Option<String>,
    /// Pods that were deleted for it, as `namespace/name`.
    pub victims: BTreeSet<String>,
}

/// Ours, with the nodes that would do as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OurDecision {
    /// What we did.
    pub decision: ConformDecision,
    /// Nodes with the highest total, of which kube-scheduler draws one.
    pub tied: Vec<String>,
    /// Totals of the feasible nodes.
    pub totals: Vec<(String, i64)>,
}

impl OurDecision {
    /// What is not the same in theirs; nothing where they agree.
    #[must_use]
    pub fn difference(&self, theirs: &ConformDecision) -> Option<String> {
        let ours = &self.decision;
        match (&ours.message, &theirs.message) {
            (Some(own), Some(other)) if own != other => return Some("other messages".to_owned()),
            (None, Some(_)) => return Some("we place the pod at once, they do not".to_owned()),
            (Some(_), None) => return Some("they place the pod at once, we do not".to_owned()),
            _ => {}
        }
        if ours.victims != theirs.victims {
            return Some("other victims".to_owned());
        }
        match (&ours.node, &theirs.node) {
            (Some(_), None) => Some("we place the pod in the end, they do not".to_owned()),
            (None, Some(_)) => Some("they place the pod in the end, we do not".to_owned()),
            // Without a message it went where the scores said.
            (Some(_), Some(node)) if ours.message.is_none() && !self.tied.contains(node) => {
                Some("their node is none of our best".to_owned())
            }
            (Some(own), Some(node)) if ours.message.is_some() && own != node => {
                Some("another node after preemption".to_owned())
            }
            _ => None,
        }
    }
}

impl fmt::Display for ConformDecision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConformDecision { node, message, victims } = self;
        write!(formatter, "{}", node.as_deref().unwrap_or("no node"))?;
        if !victims.is_empty() {
            let victims: Vec<&str> = victims.iter().map(String::as_str).collect();
            write!(formatter, "; victims {}", victims.join(", "))?;
        }
        match message {
            Some(message) => write!(formatter, "; {message:?}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for OurDecision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.decision)?;
        if !self.totals.is_empty() {
            let totals: Vec<String> =
                self.totals.iter().map(|(node, total)| format!("{node} {total}")).collect();
            write!(formatter, "; totals {}", totals.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(node: &str) -> ConformDecision {
        ConformDecision { node: Some(node.to_owned()), ..ConformDecision::default() }
    }

    fn rejected(message: &str) -> ConformDecision {
        ConformDecision { message: Some(message.to_owned()), ..ConformDecision::default() }
    }

    fn ours(decision: ConformDecision) -> OurDecision {
        OurDecision { decision, tied: vec!["a".to_owned(), "b".to_owned()], totals: Vec::new() }
    }

    #[test]
    fn tied_nodes_are_the_same_decision_and_others_are_not() {
        assert_eq!(ours(bound("a")).difference(&bound("b")), None);
        let difference = ours(bound("a")).difference(&bound("c"));
        assert_eq!(difference.as_deref(), Some("their node is none of our best"));
    }

    #[test]
    fn messages_victims_and_outcomes_are_compared() {
        let preempted = |node: &str, victim: &str| ConformDecision {
            victims: BTreeSet::from([victim.to_owned()]),
            node: Some(node.to_owned()),
            ..rejected("m")
        };
        let cases = [
            (rejected("m"), rejected("m"), None),
            (rejected("m"), rejected("n"), Some("other messages")),
            (bound("a"), rejected("m"), Some("we place the pod at once, they do not")),
            (rejected("m"), bound("a"), Some("they place the pod at once, we do not")),
            (preempted("a", "x"), preempted("a", "x"), None),
            (preempted("a", "x"), preempted("a", "y"), Some("other victims")),
            (preempted("a", "x"), preempted("b", "x"), Some("another node after preemption")),
        ];
        for (own, theirs, difference) in cases {
            assert_eq!(
                ours(own.clone()).difference(&theirs).as_deref(),
                difference,
                "{own} against {theirs}"
            );
        }
    }
}
