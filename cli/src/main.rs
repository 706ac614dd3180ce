//! `schedlab`: arguments in, tables and files out. Everything it does is in the other crates.

mod args;
mod commands;
mod host;
mod progress;
mod table;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What the process ends with. Upstream's benchmarks only know pass and fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything is fine.
    Fine,
    /// A check failed: a replay difference, a stuck workload, a missed threshold.
    CheckFailed,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        None => commands::run::run(&args::RunArgs::default()),
        Some(Command::Run(args)) => commands::run::run(&args),
        Some(Command::List(args)) => commands::list::list(&args),
        Some(Command::Explain(args)) => commands::explain::explain(&args),
        Some(Command::Replay(args)) => commands::replay::replay(&args),
    };
    match result {
        Ok(Exit::Fine) => ExitCode::SUCCESS,
        Ok(Exit::CheckFailed) => ExitCode::from(1),
        Err(error) => {
            progress::complain(&format!("schedlab: {error:#}"));
            ExitCode::from(2)
        }
    }
}
