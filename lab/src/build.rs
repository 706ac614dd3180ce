//! Builds of git revisions, kept between calls.
//!
//! ```text
//! WORK/<commit>/src      git worktree of the commit
//! WORK/<commit>/target   its build; a commit never changes, so a second call finds it done
//! WORK/working-tree      builds of the tree as it is
//! ```
//!
//! The folder a checkout lies in is mapped away, so that two checkouts of one commit give the same
//! program; nothing is built incrementally, because what was built before would decide how code is
//! cut into units.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use crate::child;
use crate::error::file;
use crate::{LabError, Notice};

/// Something to build, and what to call it.
#[derive(Clone, Debug)]
pub struct Build {
    /// What to call it: the revision, or the working tree.
    pub name: String,
    checkout: PathBuf,
    target: PathBuf,
    features: Vec<String>,
}

impl Build {
    /// A commit, in a worktree of its own.
    pub fn of_revision(revision: &str, work: &Path) -> Result<Build, LabError> {
        let spec = format!("{revision}^{{commit}}");
        let commit =
            git(Path::new("."), &["rev-parse", "--verify", "--short=12", &spec]).map_err(|source| {
                LabError::NoRevision { revision: revision.to_owned(), source: Box::new(source) }
            })?;
        let home = std::path::absolute(work.join(&commit))?;
        let checkout = home.join("src");
        if !checkout.join("Cargo.toml").is_file() {
            std::fs::create_dir_all(&home).map_err(file(&home, "cannot be made"))?;
            // A worktree whose folder was deleted is still registered; forget it first.
            git(Path::new("."), &["worktree", "prune"])?;
            let path = checkout.display().to_string();
            git(Path::new("."), &["worktree", "add", "--force", "--detach", &path, &commit])?;
        }
        let name = if commit.starts_with(revision) { commit } else { format!("{revision} ({commit})") };
        Ok(Build { name, checkout, target: home.join("target"), features: Vec::new() })
    }

    /// The working tree, changes and all; without git, the folder this is called in.
    pub fn of_working_tree(work: &Path) -> Result<Build, LabError> {
        let target = std::path::absolute(work.join("working-tree"))?.join("target");
        let Ok(top) = git(Path::new("."), &["rev-parse", "--show-toplevel"]) else {
            let (name, checkout) = ("working tree".to_owned(), std::env::current_dir()?);
            return Ok(Build { name, checkout, target, features: Vec::new() });
        };
        let checkout = PathBuf::from(top);
        let commit = git(Path::new("."), &["rev-parse", "--short=12", "HEAD"])?;
        let is_clean = git(Path::new("."), &["status", "--porcelain", "-uno"])?.is_empty();
        let name = format!("working tree ({commit}{})", if is_clean { "" } else { ", changed" });
        Ok(Build { name, checkout, target, features: Vec::new() })
    }

    /// The same with features of `schedlab-benches`, built in a place of its own.
    #[must_use]
    pub fn with_features(mut self, features: &[String]) -> Build {
        if !features.is_empty() {
            let list = features.join("-");
            self.name = format!("{} with {list}", self.name);
            self.target = self.target.with_file_name(format!("target-{list}"));
            self.features = features.to_vec();
        }
        self
    }

    /// Builds the kernels and says where they are.
    pub fn kernels(&self, notice: Notice<'_>, interrupt: &AtomicBool) -> Result<PathBuf, LabError> {
        let features = self.features.join(",");
        let mut args = vec!["-p", "schedlab-benches", "--bin", "gate-kernels"];
        if !features.is_empty() {
            args.extend(["--features", &features]);
        }
        self.cargo(&args, notice, interrupt).map_err(|source| match source {
            LabError::Interrupted => source,
            source => LabError::NoKernels { name: self.name.clone(), source: Box::new(source) },
        })?;
        Ok(self.target.join("release/gate-kernels"))
    }

    /// Builds the whole program and says where it is.
    pub fn schedlab(&self, notice: Notice<'_>, interrupt: &AtomicBool) -> Result<PathBuf, LabError> {
        self.cargo(&["-p", "schedlab", "--bin", "schedlab"], notice, interrupt).map_err(
            |source| match source {
                LabError::Interrupted => source,
                source => LabError::NotBuilt { name: self.name.clone(), source: Box::new(source) },
            },
        )?;
        Ok(self.target.join("release/schedlab"))
    }

    fn cargo(&self, args: &[&str], notice: Notice<'_>, interrupt: &AtomicBool) -> Result<(), LabError> {
        notice(&format!("building {} ({})", self.name, args[args.len() - 1]));
        let mut command = Command::new("cargo");
        command
            .args(["build", "--release", "--locked"])
            .args(args)
            .current_dir(&self.checkout)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_ENCODED_RUSTFLAGS", self.rustflags());
        child::run(command, interrupt).map(|_| ())
    }

    /// The caller's own flags and the mapping, as cargo wants them: with a separator between.
    fn rustflags(&self) -> String {
        let own = match std::env::var("CARGO_ENCODED_RUSTFLAGS") {
            Ok(encoded) => encoded,
            Err(_) => std::env::var("RUSTFLAGS")
                .unwrap_or_default()
                .split_whitespace()
                .collect::<Vec<_>>()
                .join("\u{1f}"),
        };
        let map = format!("--remap-path-prefix={}=/schedlab", self.checkout.display());
        if own.is_empty() { map } else { format!("{own}\u{1f}{map}") }
    }
}

/// A ready binary, by its absolute path.
pub fn given(binary: &Path) -> Result<PathBuf, LabError> {
    if !binary.is_file() {
        return Err(LabError::NoBinary(binary.to_owned()));
    }
    Ok(std::path::absolute(binary)?)
}

fn git(dir: &Path, args: &[&str]) -> Result<String, LabError> {
    let mut command = Command::new("git");
    command.args(args).current_dir(dir);
    // A matter of milliseconds.
    let output = child::run(command, &AtomicBool::new(false))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
