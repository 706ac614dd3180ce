//! The charts of the report and of the site: one look, one palette, one script.
//!
//! ```text
//! lines      line charts: the figure and its data here, drawn by chart.js (SVG) in the browser
//! marks      tracks in the page itself: throughput bars with intervals, latency, repeats
//! stack      what a pod costs, by extension point
//! scale      from values to places
//! chart.js   axes with units, whiskers, bands, change points, hover, keyboard, zoom, legend, table
//! chart.css  colours for light and dark, told apart also by the colour-blind; no colour stands alone
//! ```
//!
//! Rules: every axis names its unit, a logarithmic one says so, and no mark lies outside its plot
//! (`tests/browser` measures it).

pub(crate) mod lines;
pub(crate) mod marks;
pub(crate) mod scale;
pub(crate) mod stack;

/// What every page with a chart needs.
pub(crate) const STYLE: &str = include_str!("chart.css");
/// Draws line charts.
pub(crate) const SCRIPT: &str = include_str!("chart.js");
