//! The scheduler a workload runs with: made from its configuration, and changed with it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::Duration;

use schedlab_cluster::Api;
use schedlab_cluster::clock::monotonic_ns;
use schedlab_cluster::extender::{HttpExtender, as_extenders, build_extenders};
use schedlab_cluster::latency::Latency;
use schedlab_cluster::link::LinkSettings;
use schedlab_cluster::runtime::Changer;
use schedlab_core::cycle::engine::EngineSettings;
use schedlab_core::cycle::parallelize::Ways;
use schedlab_core::cycle::select::TieBreak;
use schedlab_core::framework::build::{ProfileConfig, build_profile};
use schedlab_core::framework::extender::ExtenderConfig;
use schedlab_core::framework::profile::Profile;
use schedlab_core::framework::registry::{DEFAULT_SCHEDULER_NAME, Registry, default_profile_with};
use schedlab_core::interner::Vocabulary;
use schedlab_core::scheduler::{FeatureGates, PlainBindings, Scheduler, SchedulerSettings};
use schedlab_core::world::World;

use super::controllers::ControllerSetup;
use super::error::ExecuteError;
use super::under_test::UnderTestSetup;
use super::{Control, RunSettings};
use crate::gates::switched_off_plugins;
use crate::resolve::SchedulerConfigFile;
use crate::scheduler_config::{ConfigError, ConfigWatch, POLL, Reloaded, SchedulerConfig};
use crate::schedulers::SchedulerSet;

/// kube-scheduler's `parallelism` when nobody sets it.
const DEFAULT_PARALLELISM: usize = 16;

pub(crate) fn read_config(file: &SchedulerConfigFile) -> Result<SchedulerConfig, ConfigError> {
    Ok(SchedulerConfig::parse(&file.path.display().to_string(), &file.text)?)
}

/// What a watched file says now, if that can be used: a workload that follows a change starts with
/// it. If it cannot, the watcher will say so.
pub(super) fn reread(file: &SchedulerConfigFile, registry: &Registry) -> SchedulerConfigFile {
    let now = std::fs::read_to_string(&file.path).map(|text| SchedulerConfigFile { text, ..file.clone() });
    let is_usable = |now: &SchedulerConfigFile| {
        read_config(now).and_then(|config| config.build(registry, &mut Vocabulary::default())).is_ok()
    };
    now.ok().filter(is_usable).unwrap_or_else(|| file.clone())
}

/// What a workload says about its scheduler.
#[derive(Default)]
pub(super) struct Setup<'a> {
    /// Its configuration; the default one if absent.
    pub(super) config: Option<&'a SchedulerConfig>,
    /// Its feature gates; they go together.
    pub(super) gates: FeatureGates,
    /// The controllers that run beside it.
    pub(super) controllers: ControllerSetup,
    /// What a scheduler under test is told.
    pub(super) under_test: Option<UnderTestSetup<'a>>,
    /// How many there are of it, or what they are called.
    pub(super) schedulers: SchedulerSet,
}

/// The scheduler of this number, which has seen nothing yet, and its extenders, which read the cluster from
/// `api`.
pub(super) fn make(
    settings: RunSettings,
    (setup, number): (&Setup<'_>, usize),
    registry: &Registry,
    api: &Arc<dyn Api>,
) -> Result<(Scheduler, Vec<Arc<HttpExtender>>), ExecuteError> {
    let config = setup.config;
    let parallelism = settings.parallelism.or(config.map(|config| config.parallelism));
    let engine = EngineSettings {
        class_cache: settings.class_cache,
        ways: if settings.threads > 1 { Ways::Measured(monotonic_ns) } else { Ways::Inline },
        parallelism: parallelism.unwrap_or(DEFAULT_PARALLELISM),
        tie_break: TieBreak::Draw,
        seed: settings.seed,
        ..EngineSettings::default()
    };
    let switched_off = switched_off_plugins(&setup.gates);
    let mut world = World::default().counting(settings.pod_counting);
    let gated = setup.gates.plugins();
    let registry = &registry.clone().with_gated(&gated);
    let mut profiles = match config {
        Some(config) => profiles(settings, (config, switched_off), registry, &mut world.vocabulary)?,
        None => {
            let mut profile = default_profile_without(switched_off, &gated, &mut world.vocabulary);
            profile.percentage_of_nodes_to_score = settings.percentage_of_nodes_to_score.unwrap_or(0);
            vec![profile]
        }
    };
    if let Some(name) = setup.schedulers.name(number) {
        let [profile] = profiles.as_mut_slice() else { return Err(ExecuteError::NamedSchedulers) };
        name.clone_into(&mut profile.scheduler_name);
    }
    let loop_settings = SchedulerSettings {
        nominated_node_name: settings.nominated_node_name,
        nominated_node_name_miss: settings.nominated_node_name_miss,
        known_gaps: settings.known_gaps,
        events: settings.events,
        ..over_link(settings, engine.parallelism, scheduler_settings(config, setup.gates))
    };
    let mut scheduler = Scheduler::with_settings(world, profiles, engine, loop_settings)
        .expect("the gates were checked when they were read");
    scheduler.time_plugins(monotonic_ns);
    let mut extenders = Vec::new();
    if let Some(config) = config {
        extenders = build_extenders(&config.extenders, api)
            .map_err(|error| ConfigError::Extenders { file: config.file.clone(), error })?;
        scheduler.set_extenders(as_extenders(&extenders));
    }
    Ok((scheduler, extenders))
}

/// A scheduler for a cluster over a network, which has seen nothing yet. Its calls take time: how much is
/// the network's affair.
pub fn make_for_network(
    settings: RunSettings,
    config: Option<&SchedulerConfig>,
    gates: FeatureGates,
    registry: &Registry,
    api: &Arc<dyn Api>,
) -> Result<Scheduler, ExecuteError> {
    let link = LinkSettings { latency: Latency::constant_ms(1), ..LinkSettings::INSTANT };
    let setup = Setup { config, gates, ..Setup::default() };
    let (scheduler, _) = make(RunSettings { link, ..settings }, (&setup, 0), registry, api)?;
    Ok(scheduler)
}

/// Where calls take time, as many are under way as upstream allows, bindings included, and the
/// others wait where they can still be merged. Upstream: scheduler.go gives the dispatcher the
/// scheduler's `parallelism`.
fn over_link(settings: RunSettings, parallelism: usize, scheduler: SchedulerSettings) -> SchedulerSettings {
    if settings.link.is_instant() {
        return scheduler;
    }
    SchedulerSettings { parallel_calls_max: parallelism, plain_bindings: PlainBindings::Queued, ..scheduler }
}

fn scheduler_settings(config: Option<&SchedulerConfig>, gates: FeatureGates) -> SchedulerSettings {
    let settings = SchedulerSettings { gates, ..SchedulerSettings::default() };
    let Some(config) = config else { return settings };
    let ns = |seconds: i64| u64::try_from(seconds).unwrap_or(0).saturating_mul(1_000_000_000);
    SchedulerSettings {
        initial_backoff_ns: ns(config.pod_initial_backoff_s),
        max_backoff_ns: ns(config.pod_max_backoff_s),
        ..settings
    }
}

/// The default profile with the plugins that feature gates append and without those that they switch off.
fn default_profile_without(
    switched_off: &[&str],
    gated: &[(&'static str, i32)],
    vocabulary: &mut Vocabulary,
) -> Profile {
    if switched_off.is_empty() {
        return default_profile_with(vocabulary, gated);
    }
    let registry = Registry::new_in_tree().with_gated(gated);
    let mut plugins = registry.default_plugins();
    plugins.remove(switched_off);
    let (scheduler_name, args) = (DEFAULT_SCHEDULER_NAME.to_owned(), BTreeMap::new());
    let config = ProfileConfig { scheduler_name, percentage_of_nodes_to_score: 0, plugins, args };
    build_profile(&registry, &config, vocabulary).expect("the default plugins are registered")
}

/// The profiles of a configuration; what was said on the command line wins over the file.
fn profiles(
    settings: RunSettings,
    (config, switched_off): (&SchedulerConfig, &[&str]),
    registry: &Registry,
    vocabulary: &mut Vocabulary,
) -> Result<Vec<Profile>, ConfigError> {
    let mut profiles = config.build_without(switched_off, registry, vocabulary)?;
    if let Some(percentage) = settings.percentage_of_nodes_to_score {
        profiles.iter_mut().for_each(|profile| profile.percentage_of_nodes_to_score = percentage);
    }
    Ok(profiles)
}

/// Carries changes of the configuration file to a running scheduler.
pub(super) struct Watcher<'a> {
    file: &'a SchedulerConfigFile,
    /// Those the scheduler runs with.
    extenders: Vec<ExtenderConfig>,
    settings: RunSettings,
    /// Plugins that feature gates have switched off.
    switched_off: &'static [&'static str],
    control: Control<'a>,
    changer: Changer,
    stop: AtomicBool,
}

impl<'a> Watcher<'a> {
    pub(super) fn new(
        file: &'a SchedulerConfigFile,
        extenders: Vec<ExtenderConfig>,
        (settings, gates): (RunSettings, &FeatureGates),
        control: Control<'a>,
        changer: Changer,
    ) -> Watcher<'a> {
        let switched_off = switched_off_plugins(gates);
        Watcher { file, extenders, settings, switched_off, control, changer, stop: AtomicBool::new(false) }
    }

    pub(super) fn stop(&self, watching: &Thread) {
        self.stop.store(true, Ordering::Release);
        watching.unpark();
    }

    pub(super) fn run(&self) {
        let mut watch = ConfigWatch::new(&self.file.path, &self.file.text);
        while !self.stop.load(Ordering::Acquire) {
            let outcome = match watch.look() {
                Reloaded::Unchanged => Ok(false),
                Reloaded::Changed(config) => self.apply(*config).map(|()| true),
                Reloaded::Refused(error) => Err(error),
            };
            let path = self.file.path.display();
            match outcome {
                Ok(false) => {}
                Ok(true) => {
                    self.control.progress.notice(&format!("{path} changed; the scheduler runs with it now"))
                }
                Err(error) => self.control.progress.notice(&format!(
                    "{path} changed and was refused, the scheduler keeps what it has: {error}"
                )),
            }
            std::thread::park_timeout(POLL);
        }
    }

    /// Profiles change between binding cycles: while one is under way, the change waits.
    fn apply(&self, config: SchedulerConfig) -> Result<(), ConfigError> {
        if config.extenders != self.extenders {
            return Err(ConfigError::ExtendersChanged { file: config.file });
        }
        let config = Arc::new(config);
        while !self.stop.load(Ordering::Acquire) {
            let (settings, registry) = (self.settings, self.control.registry.clone());
            let switched_off = self.switched_off;
            let config = Arc::clone(&config);
            let is_wanted = || !self.stop.load(Ordering::Acquire);
            let applied = self.changer.change_while(&is_wanted, move |scheduler, now_ns| {
                if !scheduler.binding_cycles().is_empty() {
                    return Ok(Applied::NotYet);
                }
                let config = (config.as_ref(), switched_off);
                let profiles = profiles(settings, config, &registry, scheduler.vocabulary_mut())?;
                scheduler.set_profiles(profiles, now_ns);
                Ok(Applied::Now)
            });
            match applied {
                Some(Ok(Applied::NotYet)) => std::thread::sleep(BINDING_LOOK),
                Some(Ok(Applied::Now)) => return Ok(()),
                Some(Err(error)) => return Err(error),
                // A scheduler that has ended needs no configuration.
                None => return Ok(()),
            }
        }
        Ok(())
    }
}

/// Between two looks whether binding cycles are over.
const BINDING_LOOK: Duration = Duration::from_millis(1);

/// What became of a change.
enum Applied {
    Now,
    NotYet,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_of_the_configuration_and_gates_reach_the_scheduler() {
        let text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
                    podInitialBackoffSeconds: 3\npodMaxBackoffSeconds: 40\n";
        let config = SchedulerConfig::parse("scheduler.yaml", text).unwrap();
        let gates = FeatureGates { scheduler_async_preemption: false, ..FeatureGates::default() };
        let settings = scheduler_settings(Some(&config), gates);
        assert_eq!((settings.initial_backoff_ns, settings.max_backoff_ns), (3_000_000_000, 40_000_000_000));
        assert_eq!(settings.gates, gates);
        let default = scheduler_settings(None, FeatureGates::default());
        assert_eq!((default.initial_backoff_ns, default.max_backoff_ns), (1_000_000_000, 10_000_000_000));
    }
}
