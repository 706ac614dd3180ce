//! Builds of git revisions for the gate, kept between calls.
//!
//! ```text
//! WORK/<commit>/src      git worktree of the commit
//! WORK/<commit>/target   its build; a commit never changes, so a second call finds it done
//! ```

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

use crate::progress::complain;

/// Something to run, and where it came from.
#[derive(Clone, Debug)]
pub(crate) struct Build {
    pub(crate) name: String,
    pub(crate) binary: PathBuf,
    /// The checkout, unless a binary was given.
    pub(crate) source: Option<Source>,
}

/// A checkout and where it is built.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    checkout: PathBuf,
    target: PathBuf,
}

impl Build {
    /// A binary somebody built.
    pub(crate) fn given(binary: &Path) -> Result<Build> {
        if !binary.is_file() {
            bail!("{}: there is no such binary", binary.display());
        }
        let binary = std::path::absolute(binary)?;
        Ok(Build { name: binary.display().to_string(), binary, source: None })
    }

    /// A commit, in a worktree of its own.
    pub(crate) fn of_revision(revision: &str, work: &Path, needs_binary: bool) -> Result<Build> {
        let spec = format!("{revision}^{{commit}}");
        let commit = git(Path::new("."), &["rev-parse", "--verify", "--short=12", &spec])
            .with_context(|| format!("{revision:?} is not a revision of this repository"))?;
        let home = std::path::absolute(work.join(&commit))?;
        let source = Source { checkout: home.join("src"), target: home.join("target") };
        if !source.checkout.is_dir() {
            std::fs::create_dir_all(&home).with_context(|| format!("{}: cannot be made", home.display()))?;
            // A worktree whose folder was deleted is still registered; forget it first.
            git(Path::new("."), &["worktree", "prune"])?;
            let checkout = source.checkout.display().to_string();
            git(Path::new("."), &["worktree", "add", "--detach", &checkout, &commit])?;
        }
        source.built(&format!("{revision} ({commit})"), needs_binary)
    }

    /// The working tree, changes and all.
    pub(crate) fn of_working_tree(work: &Path, needs_binary: bool) -> Result<Build> {
        let checkout = PathBuf::from(git(Path::new("."), &["rev-parse", "--show-toplevel"])?);
        let commit = git(Path::new("."), &["rev-parse", "--short=12", "HEAD"])?;
        let dirty = if git(Path::new("."), &["status", "--porcelain", "-uno"])?.is_empty() {
            ""
        } else {
            ", changed"
        };
        let target = std::path::absolute(work.join("working-tree"))?.join("target");
        Source { checkout, target }.built(&format!("working tree ({commit}{dirty})"), needs_binary)
    }
}

impl Source {
    fn built(self, name: &str, needs_binary: bool) -> Result<Build> {
        let binary = self.target.join("release/schedlab");
        if needs_binary {
            complain(&format!("schedlab: building {name}"));
            run(self.cargo(&["build", "--release", "--locked", "-p", "schedlab"]))
                .with_context(|| format!("{name} does not build"))?;
        }
        Ok(Build { name: name.to_owned(), binary, source: Some(self) })
    }

    fn cargo(&self, args: &[&str]) -> Command {
        let mut command = Command::new("cargo");
        command.args(args).current_dir(&self.checkout).env("CARGO_TARGET_DIR", &self.target);
        command
    }
}

/// Runs the instruction benches of a checkout and returns the folder with callgrind's files.
pub(crate) fn count_instructions(source: &Source) -> Result<PathBuf> {
    let out = source.target.join("gungraun-gate");
    // Counts of an earlier call must not be taken for this one's.
    if out.is_dir() {
        std::fs::remove_dir_all(&out).with_context(|| format!("{}: cannot be removed", out.display()))?;
    }
    complain(&format!("schedlab: counting instructions in {}", source.checkout.display()));
    let mut command =
        source.cargo(&["bench", "--locked", "-p", "schedlab-benches", "--bench", "instructions"]);
    command.env("GUNGRAUN_HOME", &out);
    run(command).context("the instruction benches did not run")?;
    if !out.is_dir() {
        bail!(
            "no instructions were counted: valgrind and gungraun-runner are needed; \
             `scripts/bench-gate` installs them, `--measure wall-clock` goes without"
        );
    }
    Ok(out)
}

fn git(dir: &Path, args: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    command.args(args).current_dir(dir);
    let output = run(command)?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn run(mut command: Command) -> Result<Output> {
    let output = command.stdin(Stdio::null()).output().with_context(|| {
        format!("{} cannot be started; is it installed?", command.get_program().display())
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let from = said.lines().count().saturating_sub(20);
        let tail: Vec<&str> = said.lines().skip(from).collect();
        bail!("{command:?} ended with {}:\n{}", output.status, tail.join("\n"));
    }
    Ok(output)
}
