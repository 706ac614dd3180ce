//! `schedlab`: arguments in, tables and files out. Everything it does is in the other crates.
//!
//! The program is a library with a `main` of one line, so that the author of a plugin has the whole command line with
//! the plugin in it:
//!
//! ```no_run
//! # fn factory(
//! #     _: &schedlab_core::framework::args::PluginArgs,
//! #     _: &mut schedlab_core::interner::Vocabulary,
//! # ) -> schedlab_core::framework::registry::Factored {
//! #     Err("an example".to_owned())
//! # }
//! fn main() -> std::process::ExitCode {
//!     schedlab::SchedlabCommand::new().with_plugin("MyPlugin", factory).run()
//! }
//! ```
//!
//! Upstream: cmd/kube-scheduler/app/server.go `NewSchedulerCommand`, `WithPlugin`.

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
use std::sync::Arc;

use clap::Parser;

use args::{Cli, Command};
use schedlab_core::framework::args::PluginArgs;
use schedlab_core::framework::registry::Factored;
use schedlab_core::interner::Vocabulary;
use schedlab_lab::LabError;
use schedlab_lab::alloc::{self, Allocator};
use schedlab_workloads::lab_plugins::{self, UserPlugin};

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

/// The command line, with plugins beside those that ship with schedlab.
#[derive(Default)]
pub struct SchedlabCommand {
    plugins: Vec<UserPlugin>,
}

impl std::fmt::Debug for SchedlabCommand {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.plugins.iter().map(|plugin| &plugin.name)).finish()
    }
}

impl SchedlabCommand {
    /// With the plugins that ship with schedlab.
    #[must_use]
    pub fn new() -> SchedlabCommand {
        SchedlabCommand::default()
    }

    /// And this one: scheduler configuration files may enable it by its name.
    #[must_use]
    pub fn with_plugin(
        mut self,
        name: &str,
        factory: impl Fn(&PluginArgs, &mut Vocabulary) -> Factored + Send + Sync + 'static,
    ) -> SchedlabCommand {
        self.plugins.push(UserPlugin { name: name.to_owned(), factory: Arc::new(factory) });
        self
    }

    /// Reads the arguments of the process, does what they ask, and says what to exit with.
    #[must_use]
    pub fn run(self) -> ExitCode {
        alloc::keep_freed_memory();
        let code = match lab_plugins::add_user_plugins(self.plugins) {
            Ok(()) => run_arguments(),
            Err(error) => {
                progress::complain(&format!("schedlab: {error}"));
                COULD_NOT_RUN
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
}

fn run_arguments() -> u8 {
    match Cli::try_parse() {
        Ok(cli) => run(cli),
        Err(help) => {
            progress::note(help.print());
            u8::try_from(help.exit_code()).unwrap_or(COULD_NOT_RUN)
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
        Some(Command::Experiment(args)) => commands::experiment::experiment(&args),
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
        Some(Command::Conform(args)) => commands::conform::conform(&args),
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
