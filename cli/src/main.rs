//! `schedlab`: arguments in, tables and files out. Everything it does is in the other crates.

mod alloc;
mod announce;
mod args;
mod commands;
mod host;
mod http;
mod metrics;
mod progress;
mod shards;
mod table;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

#[global_allocator]
static ALLOCATOR: alloc::Allocator = alloc::Allocator;

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
    /// Ctrl-C ended it; what was measured until then is kept.
    Interrupted,
}

fn main() -> ExitCode {
    alloc::keep_freed_memory();
    let cli = Cli::parse();
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
        Some(Command::Simulate(args)) => commands::simulate::simulate(&args),
        Some(Command::Site(args)) => commands::site::site(&args),
    };
    match result {
        Ok(Exit::Fine) => ExitCode::SUCCESS,
        Ok(Exit::CheckFailed) => ExitCode::from(1),
        Ok(Exit::Regression) => ExitCode::from(3),
        Ok(Exit::Inconclusive) => ExitCode::from(4),
        // As a shell says of a program that SIGINT ended.
        Ok(Exit::Interrupted) => ExitCode::from(130),
        Err(error) => {
            progress::complain(&format!("schedlab: {error:#}"));
            ExitCode::from(2)
        }
    }
}
