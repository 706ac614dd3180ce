//! The published site: a history as static pages.
//!
//! ```text
//! OUT/index.html            latest against previous, SLO board, what changed, all workloads, all runs
//!     w/<workload>.html     throughput, latency, memory over runs; click two points to compare
//!     compare.html          any two runs, side by side
//!     scaling.html          throughput and cycle time over nodes
//!     instructions.html     exact counts of kernels over runs
//!     claims.html           claims of proposals and what experiments measured of them
//!     plugins.html, p/*     extension points and plugins over runs
//!     flame/*.html          flamegraphs that were recorded, each in a frame without an origin
//!     data/*.js             numbers, loaded as scripts: a page opened from disk may not fetch
//!     assets/*              style and script; charts are those of the report (`chart`)
//! ```
//!
//! A page carries its tables as HTML and loads the numbers of its own charts only, so the overview
//! of 1,000 runs and 300 workloads paints as fast as that of ten. Nothing is fetched from a network.

mod data;
mod flame;
mod frame;
mod instructions;
mod model;
mod overview;
mod parts;
mod scaling;
mod workload;

use std::path::Path;

use schedlab_workloads::files::{self, Durability};
use schedlab_workloads::results::{ExperimentResult, ResultError, is_file_name};

use crate::claims;
use crate::history::Record;
use frame::Page;
use model::Lab;

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteCounts {
    /// HTML pages.
    pub pages: usize,
    /// Runs shown.
    pub runs: usize,
    /// Workloads shown.
    pub workloads: usize,
}

/// Who looks at the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Readers of files, from disk or any static host: nothing is fetched.
    Anybody,
    /// Readers of `schedlab serve`: pages listen to `/events` for the progress of runs.
    Live,
}

/// Writes the site of a history, records in time order, and of experiments.
pub fn write_site(
    out: &Path,
    records: &[Record],
    experiments: &[ExperimentResult],
    audience: Audience,
) -> Result<SiteCounts, ResultError> {
    let lab = Lab::new(records, audience);
    let mut site = Writer { out, pages: 0 };
    for (name, content) in frame::ASSETS {
        site.file(&format!("assets/{name}"), content.as_bytes())?;
    }
    data::write(&mut site, &lab)?;
    site.page("index.html", overview::page(&lab))?;
    site.page("compare.html", overview::compare_page(&lab))?;
    site.page("scaling.html", scaling::page(&lab))?;
    site.page("plugins.html", parts::index_page(&lab))?;
    site.page("instructions.html", instructions::page(&lab))?;
    site.page("claims.html", claims_page(&lab, experiments))?;
    for line in &lab.lines {
        site.page(&format!("w/{}.html", line.slug), workload::page(&lab, line))?;
    }
    for (part, file) in lab.parts() {
        site.page(&format!("p/{file}.html"), parts::page(&lab, part, file))?;
    }
    Ok(SiteCounts { pages: site.pages, runs: records.len(), workloads: lab.lines.len() })
}

fn claims_page(lab: &Lab<'_>, experiments: &[ExperimentResult]) -> maud::Markup {
    frame::render(lab, Page { title: "Claims", root: "", data: Vec::new(), body: claims::body(experiments) })
}

struct Writer<'a> {
    out: &'a Path,
    pages: usize,
}

impl Writer<'_> {
    /// Not synced to disk, as results are: a site of thousands of files can be made again.
    fn file(&self, name: &str, content: &[u8]) -> Result<(), ResultError> {
        // Names are made by `FileNames`; whoever forgets that writes nowhere.
        assert!(name.split('/').all(is_file_name), "{name:?} is no name of a file");
        Ok(files::write(&self.out.join(name), content, Durability::Rebuildable)?)
    }

    fn page(&mut self, name: &str, page: maud::Markup) -> Result<(), ResultError> {
        self.pages += 1;
        self.file(name, page.into_string().as_bytes())
    }
}

#[cfg(test)]
mod tests;
