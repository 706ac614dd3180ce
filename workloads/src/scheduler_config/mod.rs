//! KubeSchedulerConfiguration files, as users have them: read strictly, defaulted and checked as
//! kube-scheduler does it.
//!
//! ```text
//! text ──parse──▶ SchedulerConfig ──build (registry, vocabulary)──▶ profiles
//!                      ▲
//!          watch: the file changed
//! ```
//!
//! Every error starts with `file:line:column:`.
//!
//! Upstream: kube-scheduler/config/v1/types.go; apis/config/v1/defaults.go; apis/config/validation.
//! Differs: a bare number or boolean is taken where text is meant; the first error ends the
//! reading, upstream lists all it finds (`bad_values_say_where_and_what_to_write`).

mod affinity;
mod args;
mod error;
mod extenders;
mod for_process;
mod process;
mod profiles;
mod watch;

use std::path::Path;

use schedlab_core::framework::args::PluginArgs;
use schedlab_core::framework::build::{ProfileConfig, build_profiles};
use schedlab_core::framework::extender::ExtenderConfig;
use schedlab_core::framework::profile::Profile;
use schedlab_core::framework::registry::Registry;
use schedlab_core::interner::Vocabulary;

use crate::schema::{SchemaError, SchemaProblem};
use crate::yaml::{Fields, Node, SyntaxError, parse as parse_yaml};

pub use error::ConfigError;
pub use for_process::{ProcessConfig, config_for_process};
pub use process::{ClientConnection, LeaderElectionConfig};
pub use profiles::UserProfile;
pub(crate) use watch::POLL;
pub use watch::{ConfigWatch, Reloaded};

/// The one version there is.
pub const API_VERSION: &str = "kubescheduler.config.k8s.io/v1";
const KIND: &str = "KubeSchedulerConfiguration";

/// A KubeSchedulerConfiguration, defaulted.
#[derive(Clone, Debug, PartialEq)]
pub struct SchedulerConfig {
    /// The file, as it was named.
    pub file: String,
    /// `parallelism`.
    pub parallelism: usize,
    /// `percentageOfNodesToScore` of profiles that set none; 0 is adaptive.
    pub percentage_of_nodes_to_score: i32,
    /// `podInitialBackoffSeconds`.
    pub pod_initial_backoff_s: i64,
    /// `podMaxBackoffSeconds`.
    pub pod_max_backoff_s: i64,
    /// `profiles`, at least one.
    pub profiles: Vec<UserProfile>,
    /// `extenders`.
    pub extenders: Vec<ExtenderConfig>,
    /// `clientConnection`.
    pub client_connection: ClientConnection,
    /// `leaderElection`.
    pub leader_election: LeaderElectionConfig,
}

const FIELDS: &[&str] = &[
    "apiVersion",
    "kind",
    "parallelism",
    "leaderElection",
    "clientConnection",
    "enableProfiling",
    "enableContentionProfiling",
    "percentageOfNodesToScore",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "profiles",
    "extenders",
    "delayCacheUntilActive",
];

fn syntax_error(file: &str, error: SyntaxError) -> SchemaError {
    SchemaError::new(file, error.at, SchemaProblem::Syntax { message: error.message })
}

impl SchedulerConfig {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<SchedulerConfig, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigError::File { path: path.to_owned(), error })?;
        Ok(SchedulerConfig::parse(&path.display().to_string(), &text)?)
    }

    /// Reads the text of a file, YAML or JSON. `file` is its name in messages.
    pub fn parse(file: &str, text: &str) -> Result<SchedulerConfig, SchemaError> {
        let node = parse_yaml(text).map_err(|error| syntax_error(file, error))?;
        check_version(file, &node)?;
        let fields = Fields::read_exact(file, KIND, &node, FIELDS)?;
        process::check_switches(&fields)?;
        let percentage = percentage_of_nodes_to_score(&fields)?.unwrap_or(0);
        let (initial, max) = backoff(&fields)?;
        Ok(SchedulerConfig {
            file: file.to_owned(),
            parallelism: parallelism(&fields)?,
            percentage_of_nodes_to_score: percentage,
            pod_initial_backoff_s: initial,
            pod_max_backoff_s: max,
            profiles: profiles::read(&fields)?,
            extenders: extenders::read(&fields)?,
            client_connection: process::client_connection(&fields)?,
            leader_election: process::leader_election(&fields)?,
        })
    }

    /// The profiles with the default plugins of a registry under them, ready to be built.
    #[must_use]
    pub fn profile_configs(&self, registry: &Registry) -> Vec<ProfileConfig> {
        let defaults = registry.default_plugins();
        let ignored: Vec<&str> = self
            .extenders
            .iter()
            .flat_map(|extender| &extender.managed_resources)
            .filter(|resource| resource.ignored_by_scheduler)
            .map(|resource| resource.name.as_str())
            .collect();
        self.profiles
            .iter()
            .map(|user| ProfileConfig {
                scheduler_name: user.scheduler_name.clone(),
                percentage_of_nodes_to_score: user
                    .percentage_of_nodes_to_score
                    .unwrap_or(self.percentage_of_nodes_to_score),
                plugins: defaults.overlaid_with(&user.plugins),
                args: with_ignored(user, &ignored),
            })
            .collect()
    }

    /// Builds the profiles with a scheduler's vocabulary.
    pub fn build(
        &self,
        registry: &Registry,
        vocabulary: &mut Vocabulary,
    ) -> Result<Vec<Profile>, ConfigError> {
        self.build_without(&[], registry, vocabulary)
    }

    /// The same, without plugins that feature gates have switched off.
    pub(crate) fn build_without(
        &self,
        switched_off: &[&str],
        registry: &Registry,
        vocabulary: &mut Vocabulary,
    ) -> Result<Vec<Profile>, ConfigError> {
        let mut configs = self.profile_configs(registry);
        configs.iter_mut().for_each(|config| config.plugins.remove(switched_off));
        build_profiles(registry, &configs, vocabulary).map_err(|error| {
            let at = self.profiles[error.index].place_of(&error.problem);
            ConfigError::Profile {
                file: self.file.clone(),
                line: at.line,
                column: at.column,
                error: Box::new(error),
            }
        })
    }
}

/// Resources that an extender manages alone are none of NodeResourcesFit's business.
/// Upstream: scheduler.go `buildExtenders`.
fn with_ignored(user: &UserProfile, ignored: &[&str]) -> std::collections::BTreeMap<String, PluginArgs> {
    const FIT: &str = "NodeResourcesFit";
    let mut args = user.args.clone();
    if ignored.is_empty() {
        return args;
    }
    let fit = args.entry(FIT.to_owned()).or_insert_with(|| PluginArgs::default_of(FIT));
    if let PluginArgs::NodeResourcesFit(fit) = fit {
        fit.ignored_resources.extend(ignored.iter().map(|&name| name.to_owned()));
    }
    args
}

/// The version decides what the other fields mean, so it is looked at before any of them.
fn check_version(file: &str, node: &Node) -> Result<(), SchemaError> {
    let fields = Fields::open(file, KIND, node, &["apiVersion", "kind"])?;
    let version =
        fields.required_string("apiVersion", "write `apiVersion: kubescheduler.config.k8s.io/v1`")?;
    if version != API_VERSION {
        let rule = match version.strip_prefix("kubescheduler.config.k8s.io/v1") {
            Some(_) => format!(
                "kube-scheduler no longer reads it; write {API_VERSION} and rename what its release notes name"
            ),
            None => format!("write {API_VERSION}"),
        };
        return Err(fields.bad_value("apiVersion", version, rule));
    }
    let kind = fields.required_string("kind", "write `kind: KubeSchedulerConfiguration`")?;
    if kind != KIND {
        return Err(fields.bad_value("kind", kind, format!("write {KIND}")));
    }
    Ok(())
}

fn parallelism(fields: &Fields<'_>) -> Result<usize, SchemaError> {
    match integer32(fields, "parallelism")? {
        None => Ok(16),
        Some(ways) if 0 < ways => Ok(usize::try_from(ways).expect("positive")),
        Some(ways) => Err(fields.bad_value("parallelism", ways, "write an integer greater than 0")),
    }
}

fn backoff(fields: &Fields<'_>) -> Result<(i64, i64), SchemaError> {
    let initial = fields.integer("podInitialBackoffSeconds")?.unwrap_or(1);
    if initial <= 0 {
        return Err(fields.bad_value("podInitialBackoffSeconds", initial, "write an integer greater than 0"));
    }
    let max = fields.integer("podMaxBackoffSeconds")?.unwrap_or(10);
    if max < initial && fields.get("podMaxBackoffSeconds").is_none() {
        let rule = format!("write at most podMaxBackoffSeconds ({max})");
        return Err(fields.bad_value("podInitialBackoffSeconds", initial, rule));
    }
    if max < initial {
        let rule = format!("write at least podInitialBackoffSeconds ({initial})");
        return Err(fields.bad_value("podMaxBackoffSeconds", max, rule));
    }
    Ok((initial, max))
}

fn percentage_of_nodes_to_score(fields: &Fields<'_>) -> Result<Option<i32>, SchemaError> {
    match integer32(fields, "percentageOfNodesToScore")? {
        Some(percent) if !(0..=100).contains(&percent) => {
            Err(fields.bad_value("percentageOfNodesToScore", percent, "write 0 (adaptive) to 100"))
        }
        percent => Ok(percent),
    }
}

/// An integer that upstream keeps in 32 bits.
fn integer32(fields: &Fields<'_>, field: &'static str) -> Result<Option<i32>, SchemaError> {
    let Some(value) = fields.integer(field)? else { return Ok(None) };
    i32::try_from(value)
        .map(Some)
        .map_err(|_| fields.bad_value(field, value, "write an integer that fits 32 bits"))
}

#[cfg(test)]
mod tests;
