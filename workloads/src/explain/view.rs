//! Which nodes are shown, and in which order.

use std::cmp::Reverse;

use regex::Regex;

use super::error::ExplainError;
use super::report::{NodeReport, Report};
use crate::suggest::closest_of;

/// The order of the nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NodeSortOrder {
    /// Highest total first, nodes that are out last.
    #[default]
    Total,
    /// By name.
    Name,
    /// Highest weighted score of this plugin first.
    Plugin(String),
}

/// What of a report is shown.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Only nodes whose names match.
    pub nodes: Option<Regex>,
    /// Only nodes that this plugin rejected first.
    pub rejected_by: Option<String>,
    /// Only feasible nodes.
    pub feasible: bool,
    /// The order.
    pub order: NodeSortOrder,
}

impl View {
    /// A pattern for [`View::nodes`].
    pub fn pattern(text: &str) -> Result<Regex, ExplainError> {
        Ok(Regex::new(text)?)
    }

    /// Whether it leaves nodes out.
    #[must_use]
    pub fn is_narrow(&self) -> bool {
        self.nodes.is_some() || self.rejected_by.is_some() || self.feasible
    }

    /// Checks names against the report and spells them as the profile does.
    pub fn checked(mut self, report: &Report) -> Result<View, ExplainError> {
        if let Some(name) = &mut self.rejected_by {
            *name = spelled(name, report.filter_names())?;
        }
        if let NodeSortOrder::Plugin(name) = &mut self.order {
            let scores = report.scores.iter().map(|column| column.plugin.as_str());
            let all = scores.chain(report.skipped_scores.iter().map(String::as_str));
            *name = spelled(name, all)?;
        }
        Ok(self)
    }

    /// The nodes to show, in order.
    #[must_use]
    pub fn select<'a>(&self, report: &'a Report) -> Vec<&'a NodeReport> {
        let mut nodes: Vec<&NodeReport> = report.nodes.iter().filter(|node| self.shows(node)).collect();
        match &self.order {
            NodeSortOrder::Name => nodes.sort_by(|a, b| natural(&a.name, &b.name)),
            NodeSortOrder::Total => nodes.sort_by_key(|node| Reverse(node.total)),
            NodeSortOrder::Plugin(name) => {
                let at = report.scores.iter().position(|column| column.plugin == *name);
                let score = |node: &NodeReport| at.and_then(|at| node.weighted.get(at).copied());
                nodes.sort_by_key(|node| (Reverse(score(node)), Reverse(node.total)));
            }
        }
        nodes
    }

    fn shows(&self, node: &NodeReport) -> bool {
        let rejected_by = |plugin: &String| {
            // Plugins that narrowed the search together are joined by commas.
            node.rejections.first().is_some_and(|first| first.plugin.split(',').any(|name| name == plugin))
        };
        self.nodes.as_ref().is_none_or(|pattern| pattern.is_match(&node.name))
            && self.rejected_by.as_ref().is_none_or(rejected_by)
            && (!self.feasible || node.feasible)
    }
}

fn spelled<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Result<String, ExplainError> {
    let known: Vec<&str> = known.collect();
    match known.iter().find(|candidate| candidate.eq_ignore_ascii_case(name)) {
        Some(found) => Ok((*found).to_owned()),
        None => Err(ExplainError::UnknownPlugin {
            name: name.to_owned(),
            suggestions: closest_of(name, known.iter().copied(), 1),
            known: known.into_iter().map(str::to_owned).collect(),
        }),
    }
}

/// Compares names with numbers by value: node-9 before node-10.
fn natural(one: &str, other: &str) -> std::cmp::Ordering {
    let (mut left, mut right) = (one.as_bytes(), other.as_bytes());
    loop {
        let (digits_left, digits_right) = (digit_count(left), digit_count(right));
        if digits_left > 0 && digits_right > 0 {
            let (a, b) = (trim_zeros(&left[..digits_left]), trim_zeros(&right[..digits_right]));
            let by_value = a.len().cmp(&b.len()).then_with(|| a.cmp(b));
            if by_value.is_ne() {
                return by_value;
            }
            (left, right) = (&left[digits_left..], &right[digits_right..]);
            continue;
        }
        match (left.split_first(), right.split_first()) {
            (Some((a, rest)), Some((b, others))) if a == b => (left, right) = (rest, others),
            // Equal but for leading zeros: the text decides.
            (None, None) => return one.cmp(other),
            (a, b) => return a.map(|(byte, _)| byte).cmp(&b.map(|(byte, _)| byte)),
        }
    }
}

fn digit_count(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn trim_zeros(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    &digits[zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_the_numbers_in_them() {
        let mut names = ["b", "node-10", "node-9", "node-010", "node-9a", "a2-3", "a2-20", ""];
        names.sort_by(|one, other| natural(one, other));
        assert_eq!(names, ["", "a2-3", "a2-20", "b", "node-9", "node-9a", "node-010", "node-10"]);
    }
}
