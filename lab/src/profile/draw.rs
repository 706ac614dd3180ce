//! Flamegraphs.

use pprof::flamegraph::{Options, from_lines};

use crate::LabError;

/// What a flamegraph says about itself.
pub(super) struct Drawing<'a> {
    pub(super) title: &'a str,
    pub(super) subtitle: Option<&'a str>,
    /// What a width counts.
    pub(super) unit: &'a str,
}

/// An SVG of folded lines; lines with two counts make a difference.
pub(super) fn flamegraph(drawing: &Drawing<'_>, lines: &[String]) -> Result<String, LabError> {
    let mut options = Options::default();
    drawing.title.clone_into(&mut options.title);
    options.subtitle = drawing.subtitle.map(str::to_owned);
    drawing.unit.clone_into(&mut options.count_name);
    // The same profile gives the same picture.
    options.deterministic = true;
    let mut svg = Vec::new();
    from_lines(&mut options, lines.iter().map(String::as_str), &mut svg)
        .map_err(|error| LabError::Flamegraph(error.into()))?;
    Ok(String::from_utf8(svg)?)
}
