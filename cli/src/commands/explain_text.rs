//! An explanation as text, readable whatever the size of the cluster.

use std::fmt::Write as _;

use schedlab_perf_dash::format::thousands;
use schedlab_workloads::explain::{ExplainVerdict, IgnoredKind, NodeReport, RejectedGroup, Report, Winner};

use crate::table::{Align, Tone, render, toned};

/// Nodes named in a line before the rest is counted.
const NAMES_MAX: usize = 5;
/// Domains of a spread constraint listed before the rest is counted.
const DOMAINS_MAX: usize = 12;

/// The nodes to show.
pub(crate) struct Shown<'a> {
    pub(crate) nodes: &'a [&'a NodeReport],
    /// Somebody asked for some nodes only.
    pub(crate) is_narrow: bool,
    pub(crate) limit: usize,
}

pub(crate) fn text(report: &Report, shown: &Shown<'_>) -> String {
    let mut out = String::new();
    headline(report, &mut out);
    warnings(report, &mut out);
    choice(report, &mut out);
    if report.other_scheduler.is_none() {
        rejected(report, &mut out);
        spread(report, &mut out);
        node_tables(report, shown, &mut out);
    }
    footnotes(report, &mut out);
    out.trim_end().to_owned()
}

fn points(value: i64) -> String {
    if value == 1 { "1 point".to_owned() } else { format!("{value} points") }
}

fn count(value: usize) -> String {
    thousands(value as u64)
}

fn headline(report: &Report, out: &mut String) {
    let pod = &report.pod;
    let mut facts = vec![format!("priority {}", pod.priority)];
    facts.extend(pod.requests.iter().map(|(name, amount)| format!("{name} {amount}")));
    let _ = writeln!(out, "pod {}/{} ({})", pod.namespace, pod.name, facts.join(", "));
    let _ = writeln!(out, "cluster: {}, {} nodes", report.source, count(report.node_count));
    if let Some(node) = &pod.bound_to {
        let _ = writeln!(out, "it is on {node}; explained as if it were on no node");
    }
    if let Some(held) = &report.gated_by {
        let _ = writeln!(out, "\nheld back by {}: {}", held.plugin, held.message);
        let _ = writeln!(out, "below is what would happen without that");
    }
    let _ = writeln!(out);
}

/// What the answer does not take into account and should, before the answer.
fn warnings(report: &Report, out: &mut String) {
    let fields = report
        .ignored_fields
        .iter()
        .map(|ignored| format!("{} has no say here: {}", ignored.field, ignored.why));
    let kinds = report.ignored_kinds.iter().filter(|ignored| ignored.matters).map(|ignored| {
        let IgnoredKind { count: objects, kind, why, .. } = ignored;
        format!("{} {kind} in the cluster had no say: {why}", count(*objects))
    });
    let all: Vec<String> = fields.chain(kinds).chain(report.warnings.iter().cloned()).collect();
    for warning in &all {
        let _ = writeln!(out, "{}", toned(&format!("warning: {warning}"), Tone::Unsure));
    }
    if !all.is_empty() {
        let _ = writeln!(out);
    }
}

fn choice(report: &Report, out: &mut String) {
    if let Some(other) = &report.other_scheduler {
        let _ = writeln!(
            out,
            "nothing is chosen: spec.schedulerName is {}, and the profiles here are {}",
            other.scheduler_name,
            other.profiles.join(", ")
        );
        let _ = writeln!(out, "the pod stays pending until a scheduler of that name takes it");
        return;
    }
    let Some(winner) = report.winner() else {
        if let Some(whole) = &report.rejected_as_a_whole {
            let _ = writeln!(out, "rejected before any node was looked at, by {}", whole.plugins.join(", "));
        }
        let _ = writeln!(out, "fits nowhere: {}", report.message.as_deref().unwrap_or_default());
        return;
    };
    let said = format!("{} with {}", winner.node, points(winner.total));
    let _ = match report.verdict {
        ExplainVerdict::Unsure => {
            let fields: Vec<&str> = report.ignored_fields.iter().map(|it| it.field.as_str()).collect();
            writeln!(out, "unsure; without regard to {} it would be {said}", fields.join(", "))
        }
        _ => writeln!(out, "chosen: {said}"),
    };
    if winner.tied.len() > 1 {
        let others = listed(winner.tied.iter().filter(|name| **name != winner.node));
        let _ = writeln!(
            out,
            "  {} nodes share that total and kube-scheduler draws one of them; beside it {others}",
            count(winner.tied.len())
        );
    }
    lead(winner, report, out);
}

fn lead(winner: &Winner, report: &Report, out: &mut String) {
    let Some(runner_up) = &winner.runner_up else {
        let why = if report.feasible_count == 1 {
            "it is the only feasible node"
        } else {
            "no feasible node has less"
        };
        let _ = writeln!(out, "  {why}");
        return;
    };
    let _ = writeln!(out, "  {} ahead of {runner_up}:", points(winner.lead));
    let width = winner.lead_by_plugin.iter().map(|difference| difference.plugin.len()).max().unwrap_or(0);
    for difference in &winner.lead_by_plugin {
        let (chosen, other) = (difference.chosen, difference.runner_up);
        let _ = writeln!(
            out,
            "    {:<width$}  {:>+5}  ({chosen} against {other})",
            difference.plugin,
            chosen - other
        );
    }
}

fn listed<'a>(names: impl Iterator<Item = &'a String> + Clone) -> String {
    let total = names.clone().count();
    let mut text = names.take(NAMES_MAX).cloned().collect::<Vec<_>>().join(", ");
    if total > NAMES_MAX {
        let _ = write!(text, " and {} more", count(total - NAMES_MAX));
    }
    text
}

fn rejected(report: &Report, out: &mut String) {
    let out_count = report.nodes.len() - report.feasible_count;
    if report.rejected_as_a_whole.is_some() {
        return;
    }
    let _ = writeln!(
        out,
        "\n{} of {} nodes are feasible{}",
        count(report.feasible_count),
        count(report.node_count),
        if out_count == 0 { String::new() } else { format!("; {} are out:", count(out_count)) }
    );
    if report.rejected_first.is_empty() {
        return;
    }
    let rows: Vec<Vec<String>> = report.rejected_first.iter().flat_map(group_rows).collect();
    let columns = [
        ("rejected first by", Align::Left),
        ("nodes", Align::Right),
        ("reason", Align::Left),
        ("eviction helps", Align::Left),
    ];
    let _ = writeln!(out, "{}", indented(&render(&columns, &rows)));
}

/// A group, and below it the facts behind it with the number of nodes they hold for.
fn group_rows(group: &RejectedGroup) -> Vec<Vec<String>> {
    let helps = match group.nodes - group.unresolvable {
        0 => "no".to_owned(),
        some if some == group.nodes => "may".to_owned(),
        some => format!("on {}", count(some)),
    };
    let mut rows = vec![vec![group.plugin.clone(), count(group.nodes), group.reason.clone(), helps]];
    let below = |nodes: String, text: String| vec![String::new(), nodes, text, String::new()];
    let details = group.details.iter();
    rows.extend(details.map(|detail| below(count(detail.nodes), format!("  {}", detail.text))));
    if group.details_left_out > 0 {
        let text =
            format!("  {} more of that kind (--rejected-by {})", count(group.details_left_out), group.plugin);
        rows.push(below(String::new(), text));
    }
    rows
}

/// The counts that hard topology spread constraints are judged by.
fn spread(report: &Report, out: &mut String) {
    for constraint in &report.topology_spread {
        let domains: Vec<String> = constraint
            .domains
            .iter()
            .take(DOMAINS_MAX)
            .map(|domain| format!("{} {}", domain.domain, domain.count))
            .collect();
        let left_out = constraint.domains.len().saturating_sub(DOMAINS_MAX);
        let more = if left_out > 0 { format!(" and {} more", count(left_out)) } else { String::new() };
        let itself = if constraint.counts_itself { "" } else { "; the pod itself does not match" };
        let _ = writeln!(
            out,
            "\ntopology spread by {}, maxSkew {}: lowest {}; matching pods by domain: {}{more}{itself}",
            constraint.topology_key,
            constraint.max_skew,
            constraint.min,
            domains.join(", ")
        );
    }
}

fn node_tables(report: &Report, shown: &Shown<'_>, out: &mut String) {
    let (feasible, out_nodes): (Vec<&NodeReport>, Vec<&NodeReport>) =
        shown.nodes.iter().copied().partition(|node| node.feasible);
    if shown.nodes.is_empty() && shown.is_narrow {
        let _ = writeln!(out, "\nno node matches what was asked for");
        return;
    }
    if !feasible.is_empty() {
        let _ = writeln!(
            out,
            "\n{}",
            title("feasible nodes, weighted scores by plugin", feasible.len(), shown.limit)
        );
        let _ = writeln!(out, "{}", indented(&score_table(report, &feasible, shown.limit)));
    }
    // The groups above say it all, unless somebody asks for nodes.
    if !out_nodes.is_empty() && (shown.is_narrow || feasible.is_empty()) {
        let _ = writeln!(out, "\n{}", title("nodes that are out", out_nodes.len(), shown.limit));
        let _ = writeln!(out, "{}", indented(&rejection_table(&out_nodes, shown.limit)));
    }
}

fn title(what: &str, total: usize, limit: usize) -> String {
    if total <= limit {
        return format!("{what}:");
    }
    format!("{what}, {} of {} (--limit N shows more, --limit 0 all):", count(limit), count(total))
}

fn score_table(report: &Report, nodes: &[&NodeReport], limit: usize) -> String {
    let titles: Vec<Vec<String>> = report.scores.iter().map(|column| words(&column.plugin)).collect();
    let depth = titles.iter().map(Vec::len).max().unwrap_or(0);
    // Titles stand on their last line: short ones are filled from above.
    let line = |at: usize| -> Vec<String> {
        let cell = |title: &Vec<String>| {
            (at + title.len()).checked_sub(depth).map(|at| title[at].clone()).unwrap_or_default()
        };
        [String::new(), String::new()].into_iter().chain(titles.iter().map(cell)).collect()
    };
    let mut rows: Vec<Vec<String>> = (0..depth).map(line).collect();
    let weights = report.scores.iter().map(|column| format!("x{}", column.weight));
    rows.push(["node".to_owned(), "total".to_owned()].into_iter().chain(weights).collect());
    for node in nodes.iter().take(limit) {
        let total = node.total.unwrap_or_default().to_string();
        let scores = node.weighted.iter().map(i64::to_string);
        rows.push([node.name.clone(), total].into_iter().chain(scores).collect());
    }
    let columns: Vec<(&str, Align)> =
        (0..2 + titles.len()).map(|at| ("", if at == 0 { Align::Left } else { Align::Right })).collect();
    // The titles are rows of their own: the table's heading stays empty.
    render(&columns, &rows).trim_start_matches('\n').to_owned()
}

/// `NodeResourcesFit` as lines of a narrow title: Node, Resources, Fit; short words share a line.
fn words(name: &str) -> Vec<String> {
    const WIDTH: usize = 10;
    let mut lines: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut put = |word: &mut String| {
        let taken = std::mem::take(word);
        match lines.last_mut() {
            Some(line) if line.len() + taken.len() <= WIDTH => line.push_str(&taken),
            _ if taken.is_empty() => {}
            _ => lines.push(taken),
        }
    };
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && word.chars().last().is_some_and(|last| last.is_ascii_lowercase()) {
            put(&mut word);
        }
        word.push(letter);
    }
    put(&mut word);
    lines
}

fn rejection_table(nodes: &[&NodeReport], limit: usize) -> String {
    let rows: Vec<Vec<String>> = nodes
        .iter()
        .take(limit)
        .map(|node| {
            let Some((first, rest)) = node.rejections.split_first() else {
                return vec![node.name.clone(), String::new(), String::new(), String::new()];
            };
            let also =
                rest.iter().map(|rejection| format!("{} ({})", rejection.plugin, rejection.with_details()));
            vec![
                node.name.clone(),
                first.plugin.clone(),
                first.with_details(),
                also.collect::<Vec<_>>().join("; "),
            ]
        })
        .collect();
    let columns = [
        ("node", Align::Left),
        ("rejected first by", Align::Left),
        ("reason", Align::Left),
        ("would also be rejected by", Align::Left),
    ];
    render(&columns, &rows)
}

fn footnotes(report: &Report, out: &mut String) {
    let mut silent = report.skipped_filters.clone();
    // A plugin that filters this pod has its say there, whether it scores or not.
    let is_new = |name: &&String| !report.filter_names().any(|filter| filter == name.as_str());
    silent.extend(report.skipped_scores.iter().filter(is_new).cloned());
    silent.retain(|name| !report.scores.iter().any(|column| column.plugin == *name));
    if !silent.is_empty() {
        let _ = writeln!(out, "\nnothing to say about this pod: {}", silent.join(", "));
    }
    let quiet: Vec<String> = report
        .ignored_kinds
        .iter()
        .filter(|ignored| !ignored.matters)
        .map(|ignored| format!("{} {} ({})", count(ignored.count), ignored.kind, ignored.why))
        .collect();
    if !quiet.is_empty() {
        let _ = writeln!(out, "\nnot used: {}", quiet.join(", "));
    }
    if report.winner().is_some() && report.feasible_wanted < report.feasible_count {
        let _ = writeln!(
            out,
            "\nall {} feasible nodes are compared here; kube-scheduler stops at {} of them (percentageOfNodesToScore), \
             so it chooses the best of those",
            count(report.feasible_count),
            count(report.feasible_wanted)
        );
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_become_narrow_titles() {
        let cases: [(&str, &[&str]); 5] = [
            ("NodeResourcesBalancedAllocation", &["Node", "Resources", "Balanced", "Allocation"]),
            ("NodeResourcesFit", &["Node", "Resources", "Fit"]),
            ("ImageLocality", &["Image", "Locality"]),
            ("NodeName", &["NodeName"]),
            ("CSILimits", &["CSILimits"]),
        ];
        for (name, lines) in cases {
            assert_eq!(words(name), lines, "{name}");
        }
    }
}
