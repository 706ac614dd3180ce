//! An explanation as text, readable whatever the size of the cluster.

use std::fmt::Write as _;

use schedlab_perf_dash::format::thousands;
use schedlab_workloads::explain::{NodeReport, Report, Winner};

use crate::table::{Align, render};

/// Nodes named in a line before the rest is counted.
const NAMES_MAX: usize = 5;

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
    choice(report, &mut out);
    rejected(report, &mut out);
    node_tables(report, shown, &mut out);
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
    if let Some(held) = &report.held_back {
        let _ = writeln!(out, "\nheld back by {}: {}", held.plugin, held.message);
        let _ = writeln!(out, "below is what would happen without that");
    }
    let _ = writeln!(out);
}

fn choice(report: &Report, out: &mut String) {
    let Some(winner) = &report.chosen else {
        if let Some(whole) = &report.rejected_as_a_whole {
            let _ = writeln!(out, "rejected before any node was looked at, by {}", whole.plugins.join(", "));
        }
        let _ = writeln!(out, "fits nowhere: {}", report.message.as_deref().unwrap_or_default());
        return;
    };
    let _ = writeln!(out, "chosen: {} with {}", winner.node, points(winner.total));
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
    let rows: Vec<Vec<String>> = report
        .rejected_first
        .iter()
        .map(|group| {
            let helps = match group.nodes - group.unresolvable {
                0 => "no".to_owned(),
                some if some == group.nodes => "may".to_owned(),
                some => format!("on {}", count(some)),
            };
            vec![group.plugin.clone(), count(group.nodes), group.reason.clone(), helps]
        })
        .collect();
    let columns = [
        ("rejected first by", Align::Left),
        ("nodes", Align::Right),
        ("reason", Align::Left),
        ("eviction helps", Align::Left),
    ];
    let _ = writeln!(out, "{}", indented(&render(&columns, &rows)));
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
            let also = rest
                .iter()
                .map(|rejection| format!("{} ({})", rejection.plugin, rejection.reasons.join(", ")));
            vec![
                node.name.clone(),
                first.plugin.clone(),
                first.reasons.join(", "),
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
    silent
        .extend(report.skipped_scores.iter().filter(|name| !report.skipped_filters.contains(name)).cloned());
    silent.retain(|name| !report.scores.iter().any(|column| column.plugin == *name));
    if !silent.is_empty() {
        let _ = writeln!(out, "\nnothing to say about this pod: {}", silent.join(", "));
    }
    if report.chosen.is_some() && report.feasible_wanted < report.feasible_count {
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
