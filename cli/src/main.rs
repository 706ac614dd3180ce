//! `schedlab`: arguments in, tables and files out. Everything it does is in the other crates.

mod announce;
mod args;
mod commands;
mod host;
mod http;
mod metrics;
#[cfg(test)]
mod named_commands;
mod progress;
mod shards;
mod signals;
mod table;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use schedlab_lab::LabError;
use schedlab_lab::alloc::{self, Allocator};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// What the process ends with. Upstream's benchmarks only know pass and fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything is fine.
    Fine,
    /// A check failed: a replay difference, a stuck workload, a missed threshold.
    CheckFailed,
    /// A comparison found something slower.
    Regression,
    /// A comparison could not say.
    Inconclusive,
    /// A signal ended it; what was measured until then is kept.
    Interrupted,
}

/// Bad arguments, bad input, or something that could not be written.
const COULD_NOT_RUN: u8 = 2;

fn main() -> ExitCode {
    alloc::keep_freed_memory();
    let code = match Cli::try_parse() {
        Ok(cli) => run(cli),
        Err(help) => {
            progress::note(help.print());
            u8::try_from(help.exit_code()).unwrap_or(COULD_NOT_RUN)
        }
    };
    match progress::lost() {
        None => ExitCode::from(code),
        Some(error) => {
            progress::complain(&format!(
                "schedlab: standard output: {error}; what was printed is not all there"
            ));
            ExitCode::from(COULD_NOT_RUN)
        }
    }
}

/// Runs a command and returns the exit code.
fn run(cli: Cli) -> u8 {
    let result = match cli.command {
        None => commands::run::run(&args::RunArgs::default()),
        Some(Command::Run(args)) => commands::run::run(&args),
        Some(Command::Merge(args)) => commands::merge::merge(&args),
        Some(Command::List(args)) => commands::list::list(&args),
        Some(Command::Explain(args)) => commands::explain::explain(&args),
        Some(Command::Replay(args)) => commands::replay::replay(&args),
        Some(Command::Compare(args)) => commands::compare::compare(&args),
        Some(Command::Ab(args)) => commands::ab::ab(&args),
        Some(Command::Alerts(args)) => commands::alerts::alerts(&args),
        Some(Command::Bench(args)) => commands::bench::bench(&args),
        Some(Command::Record(args)) => commands::record::record(&args),
        Some(Command::Gate(args)) => commands::gate::gate(&args),
        Some(Command::Profile(args)) => commands::profile::profile(&args),
        Some(Command::Serve(args)) => commands::serve::serve(&args),
        Some(Command::Apiserver(args)) => commands::apiserver::apiserver(&args),
        Some(Command::Scheduler(args)) => commands::scheduler::scheduler(&args),
        Some(Command::Simulate(args)) => commands::simulate::simulate(&args),
        Some(Command::Site(args)) => commands::site::site(&args),
        Some(Command::SuiteTable(args)) => commands::suite_table::suite_table(&args),
    };
    match result {
        Ok(Exit::Fine) => 0,
        Ok(Exit::CheckFailed) => 1,
        Ok(Exit::Regression) => 3,
        Ok(Exit::Inconclusive) => 4,
        Ok(Exit::Interrupted) => signals::exit_code(),
        Err(error) if matches!(error.downcast_ref(), Some(LabError::Interrupted)) => {
            progress::complain(&format!("schedlab: {}", LabError::Interrupted));
            signals::exit_code()
        }
        Err(error) => {
            progress::complain(&format!("schedlab: {}", told_once(&error)));
            COULD_NOT_RUN
        }
    }
}

/// What went wrong and why, without a cause whose text is part of what was said before it.
fn told_once(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |said, cause| match said {
        said if said.is_empty() => cause,
        said if said.contains(&cause) => said,
        said => format!("{said}: {cause}"),
    })
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn repeated_error_cause_is_printed_once() {
        let refused = anyhow!("memory must be greater than or equal to 0");
        let error = refused
            .context("c.yaml: Pod web: memory must be greater than or equal to 0")
            .context("--cluster");
        assert_eq!(
            told_once(&error),
            "--cluster: c.yaml: Pod web: memory must be greater than or equal to 0"
        );
        assert_eq!(
            told_once(&anyhow!("disk full").context("out: cannot write")),
            "out: cannot write: disk full"
        );
    }
}
