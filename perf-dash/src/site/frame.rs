//! What every page has: head, navigation, footer; and small pieces of markup.

use maud::{DOCTYPE, Markup, html};
use schedlab_workloads::results::ComparedFigure;

use super::Audience;
use super::model::{Change, Lab, is_too_noisy};
use crate::alerts::Alert;
use crate::chart::lines::{self, Frame};
use crate::format;
use crate::stats::Verdict;

/// Files that every page shares.
pub(super) const ASSETS: [(&str, &str); 6] = [
    ("base.css", include_str!("../html/style.css")),
    ("chart.css", crate::chart::STYLE),
    ("chart.js", crate::chart::SCRIPT),
    ("site.css", include_str!("assets/site.css")),
    ("site.js", include_str!("assets/site.js")),
    ("live.js", include_str!("assets/live.js")),
];

/// Only what lies beside the page may be loaded. `file:` is named because a page opened from disk
/// has no origin that 'self' could mean in every browser.
const POLICY: &str = "default-src 'none'; script-src 'self' file:; style-src 'self' file: 'unsafe-inline'; \
                      img-src 'self' file: data:; frame-src 'self' file:";

/// A page of the site.
pub(super) struct Page<'a> {
    pub(super) title: &'a str,
    /// Way back to the site's root: empty or `../`.
    pub(super) root: &'a str,
    /// Data scripts below `data/`, loaded before the site's own script.
    pub(super) data: Vec<String>,
    pub(super) body: Markup,
}

pub(super) fn render(lab: &Lab<'_>, page: Page<'_>) -> Markup {
    let root = page.root;
    let nav = [
        ("index.html", "Overview"),
        ("compare.html", "Compare"),
        ("scaling.html", "Scaling"),
        ("plugins.html", "Plugins"),
        ("instructions.html", "Instructions"),
        ("claims.html", "Claims"),
    ];
    let is_live = lab.audience == Audience::Live;
    let newest = lab.records.last();
    html! {
        (DOCTYPE)
        html lang="en" data-root=(root) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content={ (POLICY) @if is_live { "; connect-src 'self'" } };
                title { (page.title) " · schedlab" }
                link rel="stylesheet" href={ (root) "assets/base.css" };
                link rel="stylesheet" href={ (root) "assets/chart.css" };
                link rel="stylesheet" href={ (root) "assets/site.css" };
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                header.top {
                    p.brand { a href={ (root) "index.html" } { strong { "schedlab" } } }
                    nav.pages aria-label="Pages" {
                        @for (file, name) in nav {
                            a href={ (root) (file) } aria-current=[(name == page.title).then_some("page")] { (name) }
                        }
                    }
                    button #theme type="button" hidden { "Theme: auto" }
                }
                @if is_live { section.running #running aria-label="Running now" aria-live="polite" hidden {} }
                main #main { (page.body) }
                footer.end {
                    p {
                        (format::counted(lab.records.len() as u64, "run"))
                        @if let Some(newest) = newest { ", the last one of " (format::minute(&newest.started_at)) }
                        ". A change is judged by the workload's own fence: the third quartile plus three "
                        "interquartile ranges of the changes its history shows between runs of one revision. "
                        "Numbers of different coverage are not comparable."
                    }
                }
                noscript { p.banner { "Charts need JavaScript; the tables do not." } }
                script src={ (root) "assets/chart.js" } {}
                script src={ (root) "assets/site.js" } {}
                @if is_live { script src={ (root) "assets/live.js" } {} }
                @for file in &page.data { script src={ (root) "data/" (file) } {} }
            }
        }
    }
}

/// A chart: script draws into it from the page's data.
pub(super) fn chart(id: &str, title: &str, note: &str) -> Markup {
    lines::figure(&Frame { id: Some(id), title, note, ..Frame::default() })
}

/// A verdict as symbol and word.
pub(super) fn verdict(verdict: Option<Verdict>) -> Markup {
    let (class, symbol, word) = match verdict {
        Some(Verdict::Better) => ("pass", "▲", "better"),
        Some(Verdict::Worse) => ("fail", "▼", "worse"),
        Some(Verdict::Unchanged) => ("none", "=", "unchanged"),
        Some(Verdict::Inconclusive) => ("none", "?", "inconclusive"),
        None => ("none", "–", "first run"),
    };
    html! { span class={ "mark " (class) } { span aria-hidden="true" { (symbol) } " " (word) } }
}

/// A change point in a line of text: state, size, since when.
pub(super) fn alert_words(alert: &Alert) -> Markup {
    html! {
        (verdict(Some(alert.verdict))) " " strong.num { (alert.change()) } " " span.muted {
            (alert.interval()) ", " (alert.state.word()) ", since " (alert.since())
            @if !alert.settings.is_empty() { "; " (alert.settings) }
        }
    }
}

/// `+3.1 %`, with what it is of where that is not pods/s, or a dash.
pub(super) fn change_text(change: &Change<'_>) -> String {
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    match (change.ratio, change.figure) {
        (None, _) => "–".to_owned(),
        (Some(ratio), ComparedFigure::PodsPerS) => format!("{:+.1} %", percent(ratio)),
        (Some(ratio), ComparedFigure::Normalised) => format!("{:+.1} % normalised", percent(ratio)),
    }
}

/// `±1.2 %`, or a dash, or that it holds anything.
pub(super) fn fence_text(change: &Change<'_>) -> String {
    match change.fence {
        None => "–".to_owned(),
        Some(fence) if is_too_noisy(fence) => "too noisy".to_owned(),
        Some(fence) => format!("±{:.1} %", fence.relative * 100.0),
    }
}
