//! An explanation as one HTML file, in the clothes of the report.
//!
//! ```text
//! page   head, headline, pod, why it won, who is out
//! nodes  the two tables of nodes: the first rows as HTML, all rows as data for the script
//! ```
//!
//! Whole without script: summary, lead and the first rows stand in the page. Script sorts, filters
//! and turns pages; it keeps one page of rows in the document, so 5,000 nodes are as quick as 50.

mod nodes;
mod page;

use schedlab_workloads::explain::Report;

/// The whole explanation: one self-contained HTML file.
pub fn render_explain_html(report: &Report) -> String {
    page::page(report).into_string()
}

#[cfg(test)]
mod tests;
