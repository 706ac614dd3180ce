//! The frame of the page, and the answer in short.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use schedlab_workloads::explain::{ExplainVerdict, NodeReport, RejectedGroup, Report, Winner};

use super::nodes;
use crate::format::thousands;
use crate::html::{POLICY, STYLE, broken_name};

const OWN_STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Names listed before the rest is counted.
const NAMES_MAX: usize = 8;
/// Domains of a spread constraint listed before the rest is counted.
const DOMAINS_MAX: usize = 24;

pub(super) fn page(report: &Report) -> Markup {
    let pod = &report.pod;
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (pod.namespace) "/" (pod.name) ": why there?" }
                style { (PreEscaped(STYLE)) (PreEscaped(OWN_STYLE)) }
            }
            body {
                a.skip href="#feasible-title" { "Skip to the nodes" }
                header.top {
                    p.brand { strong { "schedlab" } " " span.muted { "explain" } }
                    button #theme type="button" hidden { "Theme: auto" }
                }
                main {
                    (headline(report))
                    (banners(report))
                    (facts(report))
                    @if let Some(winner) = report.winner() { (lead(report, winner)) }
                    (rejected_groups(report))
                    (topology_spread(report))
                    (nodes::feasible(report))
                    (nodes::rejected(report))
                }
                (footer(report))
                (nodes::data(report))
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

pub(super) fn count(value: usize) -> String {
    thousands(value as u64)
}

fn headline(report: &Report) -> Markup {
    let pod = html! { span.code { (report.pod.namespace) "/" wbr; (report.pod.name) } };
    html! {
        @match (&report.other_scheduler, report.winner()) {
            (Some(other), _) => {
                h1 { (pod) " is not ours" }
                p.ends {
                    "Nothing is chosen: spec.schedulerName is " span.code { (other.scheduler_name) }
                    ", and the profiles here are " span.code { (other.profiles.join(", ")) }
                    ". The pod stays pending until a scheduler of that name takes it."
                }
            }
            (None, Some(winner)) if report.verdict == ExplainVerdict::Unsure => {
                h1 { (pod) ": unsure" }
                p.ends {
                    "Without regard to "
                    @for (at, ignored) in report.ignored_fields.iter().enumerate() {
                        @if at > 0 { ", " } span.code { (ignored.field) }
                    }
                    " it would go to " span.code { (winner.node) } ". " (margin(report, winner))
                }
            }
            (None, Some(winner)) => {
                h1 { (pod) " goes to " span.code { (winner.node) } }
                p.ends { (margin(report, winner)) }
            }
            (None, None) => {
                h1 { (pod) " fits nowhere" }
                p.ends { (report.message.as_deref().unwrap_or_default()) }
            }
        }
    }
}

fn points(value: i64) -> String {
    if value == 1 { "1 point".to_owned() } else { format!("{value} points") }
}

fn margin(report: &Report, winner: &Winner) -> String {
    let feasible =
        format!("{} of {} nodes are feasible", count(report.feasible_count), count(report.node_count));
    match (&winner.runner_up, winner.tied.len()) {
        (None, 1) => format!("It is the only feasible node of {}.", count(report.node_count)),
        (Some(other), 1) => format!("{} ahead of {other}; {feasible}.", points(winner.lead)),
        (_, tied) => {
            format!("It shares {} with {} more; {feasible}.", points(winner.total), count(tied - 1))
        }
    }
}

fn banners(report: &Report) -> Markup {
    let matters = report.ignored_kinds.iter().filter(|ignored| ignored.matters);
    html! {
        @for ignored in &report.ignored_fields {
            p.banner.warn role="status" {
                strong { span.code { (ignored.field) } " has no say here. " } (ignored.why) "."
            }
        }
        @for ignored in matters {
            p.banner.warn role="status" {
                strong { (count(ignored.count)) " " (ignored.kind) " had no say. " } (ignored.why) "."
            }
        }
        @for warning in &report.warnings { p.banner.warn role="status" { (warning) "." } }
        @if let Some(held) = &report.gated_by {
            p.banner role="status" {
                strong { "Held back by " (held.plugin) ". " } (held.message)
                " This page shows what would happen without that."
            }
        }
        @if let Some(whole) = &report.rejected_as_a_whole {
            p.banner role="status" {
                strong { "Rejected before any node was looked at, by " (whole.plugins.join(", ")) ". " }
                (whole.reason) " (" (whole.code) ")"
            }
        }
        @if let Some(node) = &report.pod.bound_to {
            p.banner role="status" {
                "The pod is on " span.code { (node) } ". It is explained as if it were on no node."
            }
        }
    }
}

fn facts(report: &Report) -> Markup {
    let pod = &report.pod;
    let fact = |name: &str, value: Markup| html! { div { dt { (name) } dd { (value) } } };
    html! {
        dl.facts {
            (fact("Cluster", html! { (report.source) }))
            (fact("Nodes", html! { (count(report.node_count)) }))
            (fact("Feasible", html! { (count(report.feasible_count)) }))
            (fact("Priority", html! { (pod.priority) }))
            @for (name, amount) in &pod.requests { (fact(name, html! { (amount) })) }
            (fact("Scheduler", html! { (pod.scheduler_name) }))
        }
    }
}

fn lead(report: &Report, winner: &Winner) -> Markup {
    let find = |name: &str| report.nodes.iter().find(|node| node.name == name);
    let chosen = find(&winner.node);
    let other = winner.runner_up.as_deref().and_then(find);
    html! {
        section aria-labelledby="lead-title" {
            h2 #lead-title { "Why it won" }
            @if let (Some(chosen), Some(other)) = (chosen, other) { (lead_table(report, winner, chosen, other)) }
            @else { p.muted { "There is no feasible node with fewer points." } }
            @if winner.tied.len() > 1 {
                p.note {
                    (count(winner.tied.len())) " nodes share the highest total and kube-scheduler draws one of them: "
                    @for (at, name) in winner.tied.iter().take(NAMES_MAX).enumerate() {
                        @if at > 0 { ", " } span.code { (name) }
                    }
                    @if winner.tied.len() > NAMES_MAX { " and " (count(winner.tied.len() - NAMES_MAX)) " more" }
                    "."
                }
            }
            @if report.feasible_wanted < report.feasible_count {
                p.note {
                    "All " (count(report.feasible_count)) " feasible nodes are compared here. kube-scheduler stops at "
                    (count(report.feasible_wanted))
                    " of them (percentageOfNodesToScore), and so chooses the best of those."
                }
            }
        }
    }
}

fn lead_table(report: &Report, winner: &Winner, chosen: &NodeReport, other: &NodeReport) -> Markup {
    let widest =
        chosen.weighted.iter().zip(&other.weighted).map(|(a, b)| (a - b).abs()).max().unwrap_or(0).max(1);
    html! {
        div.wide tabindex="0" role="region" aria-label="Lead by plugin" {
            table.plain.lead {
                caption.sr { "Weighted scores of the chosen node and the runner-up" }
                thead {
                    tr {
                        th scope="col" { "Plugin" }
                        th.number scope="col" { "Weight" }
                        th.number scope="col" { (winner.node) small { "chosen" } }
                        th.number scope="col" { (other.name) small { "runner-up" } }
                        th.number scope="col" { "Difference" }
                        th.bars aria-hidden="true" {}
                    }
                }
                tbody {
                    @for ((column, a), b) in report.scores.iter().zip(&chosen.weighted).zip(&other.weighted) {
                        @let difference = a - b;
                        tr.even[difference == 0] {
                            th scope="row" { (broken_name(&column.plugin)) }
                            td.number { (column.weight) }
                            td.number { (a) }
                            td.number { (b) }
                            td.number { @if difference == 0 { "0" } @else { (format!("{difference:+}")) } }
                            td.bars aria-hidden="true" {
                                @let width = difference.abs() * 50 / widest;
                                span.for[difference >= 0].against[difference < 0] style={ "width:" (width) "%" } {}
                            }
                        }
                    }
                }
                tfoot {
                    tr {
                        th scope="row" { "Total" }
                        td {}
                        td.number { (winner.total) }
                        td.number { (other.total.unwrap_or_default()) }
                        td.number { (format!("{:+}", winner.lead)) }
                        td {}
                    }
                }
            }
        }
    }
}

fn rejected_groups(report: &Report) -> Markup {
    let most = report.rejected_first.iter().map(|group| group.nodes).max().unwrap_or(0).max(1);
    html! {
        @if !report.rejected_first.is_empty() {
            section aria-labelledby="out-title" {
                h2 #out-title { "What keeps nodes out" }
                p.note { "By the plugin that rejected first. A node with several reasons counts for each." }
                div.wide tabindex="0" role="region" aria-label="Rejections by plugin and reason" {
                    table.plain.cells {
                        caption.sr { "Nodes by the plugin that rejected them first, and its reason" }
                        thead {
                            tr {
                                th scope="col" { "Plugin" }
                                th.number scope="col" { "Nodes" }
                                th.share aria-hidden="true" {}
                                th scope="col" { "Reason" }
                                th scope="col" { "Eviction may help" }
                            }
                        }
                        tbody {
                            @for group in &report.rejected_first {
                                tr {
                                    th scope="row" { (group.plugin) }
                                    td.number data-label="Nodes" { (count(group.nodes)) }
                                    td.share aria-hidden="true" {
                                        span.meter { span style={ "width:" (group.nodes * 100 / most) "%" } {} }
                                    }
                                    td.reason.row data-label="Reason" { (group.reason) (group_details(group)) }
                                    td data-label="Eviction may help" {
                                        @match group.nodes - group.unresolvable {
                                            0 => "no",
                                            some if some == group.nodes => "yes",
                                            some => { "on " (count(some)) },
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The facts behind a group, with the number of nodes they hold for.
fn group_details(group: &RejectedGroup) -> Markup {
    html! {
        @if !group.details.is_empty() {
            ul.details {
                @for detail in &group.details {
                    li { (detail.text) @if group.nodes > 1 { " " span.muted { "on " (count(detail.nodes)) } } }
                }
                @if group.details_left_out > 0 {
                    li.muted { (count(group.details_left_out)) " more of that kind, in the list below" }
                }
            }
        }
    }
}

/// Matching pods by domain for each hard constraint.
fn topology_spread(report: &Report) -> Markup {
    html! {
        @for constraint in &report.topology_spread {
            section {
                h2 { "Topology spread by " span.code { (constraint.topology_key) } }
                p.note {
                    "maxSkew " (constraint.max_skew) ", lowest count " (constraint.min) "."
                    @if !constraint.counts_itself { " The pod itself does not match." }
                }
                div.wide tabindex="0" role="region" aria-label="Matching pods by domain" {
                    table.plain {
                        caption.sr { "Matching pods and nodes by domain" }
                        thead {
                            tr {
                                th scope="col" { "Domain" }
                                th.number scope="col" { "Matching pods" }
                                th.number scope="col" { "Nodes" }
                                th.number scope="col" { "Skew with the pod" }
                            }
                        }
                        tbody {
                            @for domain in constraint.domains.iter().take(DOMAINS_MAX) {
                                @let skew = domain.count + i64::from(constraint.counts_itself) - constraint.min;
                                tr {
                                    th scope="row" { span.code { (domain.domain) } }
                                    td.number { (domain.count) }
                                    td.number { (count(domain.nodes)) }
                                    td.number {
                                        (skew) @if skew > constraint.max_skew { " " span.chip.bad { "too high" } }
                                    }
                                }
                            }
                        }
                    }
                }
                @if constraint.domains.len() > DOMAINS_MAX {
                    p.note { "The " (DOMAINS_MAX) " emptiest of " (count(constraint.domains.len())) " domains." }
                }
            }
        }
    }
}

fn footer(report: &Report) -> Markup {
    let unused: Vec<String> = report
        .ignored_kinds
        .iter()
        .filter(|ignored| !ignored.matters)
        .map(|ignored| format!("{} {} ({})", count(ignored.count), ignored.kind, ignored.why))
        .collect();
    let silent = report
        .skipped_filters
        .iter()
        .chain(
            report
                .skipped_scores
                .iter()
                .filter(|name| !report.filter_names().any(|filter| filter == name.as_str())),
        )
        .filter(|name| report.scores.iter().all(|column| column.plugin != **name))
        .map(String::as_str)
        .collect::<Vec<_>>();
    html! {
        footer.end {
            @if !unused.is_empty() { p { "Not used: " (unused.join(", ")) "." } }
            @if !silent.is_empty() { p { "Nothing to say about this pod: " (silent.join(", ")) "." } }
            p {
                "Verdicts and scores come from the same plugins that decide. A score in the table is scaled "
                "to 100 and multiplied by the plugin's weight; raw is what the plugin said before that."
            }
        }
    }
}
