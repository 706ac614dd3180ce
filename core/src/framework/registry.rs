//! Plugin factories by name, and the default profile made of those that ship with the engine.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::framework::args::{Defaulting, PluginArgs, PreemptionArgs};
use crate::framework::build::{ProfileConfig, build_profile};
use crate::framework::plugin::Plugin;
use crate::framework::plugin_lists::PluginLists;
use crate::framework::profile::Profile;
use crate::interner::Vocabulary;
use crate::plugins::default_binder::DefaultBinder;
use crate::plugins::default_preemption::DefaultPreemption;
use crate::plugins::image_locality::ImageLocality;
use crate::plugins::inter_pod_affinity::InterPodAffinity;
use crate::plugins::node_affinity::NodeAffinity;
use crate::plugins::node_declared_features::NodeDeclaredFeatures;
use crate::plugins::node_name::NodeName;
use crate::plugins::node_ports::NodePorts;
use crate::plugins::node_resources_balanced_allocation::NodeResourcesBalancedAllocation;
use crate::plugins::node_resources_fit::NodeResourcesFit;
use crate::plugins::node_unschedulable::NodeUnschedulable;
use crate::plugins::node_volume_limits::NodeVolumeLimits;
use crate::plugins::pod_topology_spread::{DefaultConstraints, PodTopologySpread};
use crate::plugins::priority_sort::PrioritySort;
use crate::plugins::scheduling_gates::SchedulingGates;
use crate::plugins::taint_toleration::TaintToleration;
use crate::plugins::volume_binding::VolumeBinding;
use crate::plugins::volume_restrictions::VolumeRestrictions;
use crate::plugins::volume_zone::VolumeZone;

/// The name of the scheduler that takes pods which name none.
pub const DEFAULT_SCHEDULER_NAME: &str = "default-scheduler";

/// What a factory returns: the plugin, or why it cannot be made.
pub type Factored = Result<Arc<dyn Plugin>, String>;

/// Makes a plugin from its arguments and the world's vocabulary.
pub type Factory = Arc<dyn Fn(&PluginArgs, &mut Vocabulary) -> Factored + Send + Sync>;

/// Plugin factories by name.
#[derive(Clone, Default)]
pub struct Registry {
    factories: BTreeMap<String, Factory>,
}

/// A name that is taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a plugin named `{0}` is registered already; give this one another name")]
pub struct AlreadyRegistered(pub String);

impl Registry {
    /// The plugins that ship with the engine.
    #[must_use]
    pub fn new_in_tree() -> Registry {
        let mut registry = Registry::default();
        for (name, make) in IN_TREE {
            registry.factories.insert((*name).to_owned(), Arc::new(make));
        }
        registry
    }

    /// Adds a plugin. Its [`Plugin::name`] must be the name it is registered under.
    pub fn register(
        &mut self,
        name: &str,
        factory: impl Fn(&PluginArgs, &mut Vocabulary) -> Factored + Send + Sync + 'static,
    ) -> Result<(), AlreadyRegistered> {
        if self.contains(name) {
            return Err(AlreadyRegistered(name.to_owned()));
        }
        self.factories.insert(name.to_owned(), Arc::new(factory));
        Ok(())
    }

    /// Whether there is a plugin of this name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.factories.contains_key(name)
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> + '_ {
        self.factories.keys().map(String::as_str)
    }

    /// The factory of a plugin.
    #[must_use]
    pub fn factory(&self, name: &str) -> Option<&Factory> {
        self.factories.get(name)
    }

    /// The default plugin lists, of those plugins that are registered.
    #[must_use]
    pub fn default_plugins(&self) -> PluginLists {
        PluginLists::defaults(|name| self.contains(name))
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.factories.keys()).finish()
    }
}

type Make = fn(&PluginArgs, &mut Vocabulary) -> Factored;

/// One line a plugin. The default profile's order and weights are in `plugin_lists`.
const IN_TREE: &[(&str, Make)] = &[
    ("SchedulingGates", |_, _| Ok(Arc::new(SchedulingGates))),
    ("PrioritySort", |_, _| Ok(Arc::new(PrioritySort))),
    ("NodeName", |_, _| Ok(Arc::new(NodeName))),
    ("NodeUnschedulable", |_, vocabulary| Ok(Arc::new(NodeUnschedulable::new(vocabulary)))),
    ("TaintToleration", |_, _| Ok(Arc::new(TaintToleration))),
    ("NodeAffinity", node_affinity),
    ("NodePorts", |_, _| Ok(Arc::new(NodePorts))),
    ("NodeResourcesFit", node_resources_fit),
    ("VolumeRestrictions", |_, _| Ok(Arc::new(VolumeRestrictions))),
    ("NodeVolumeLimits", |_, _| Ok(Arc::new(NodeVolumeLimits))),
    ("VolumeBinding", volume_binding),
    ("VolumeZone", |_, vocabulary| Ok(Arc::new(VolumeZone::new(vocabulary)))),
    ("PodTopologySpread", pod_topology_spread),
    ("InterPodAffinity", inter_pod_affinity),
    ("NodeDeclaredFeatures", |_, _| Ok(Arc::new(NodeDeclaredFeatures))),
    ("DefaultPreemption", default_preemption),
    ("NodeResourcesBalancedAllocation", balanced_allocation),
    ("ImageLocality", |_, _| Ok(Arc::new(ImageLocality))),
    ("DefaultBinder", |_, _| Ok(Arc::new(DefaultBinder))),
];

/// A shape's scores go from 0 to 10 in a file and from 0 to 100 in the engine.
const SHAPE_SCALE: i64 = 10;

/// What a factory answers when it gets the arguments of another plugin.
fn other_args(wanted: &str) -> String {
    format!("its arguments are those of another plugin; {wanted} are needed")
}

fn node_affinity(args: &PluginArgs, vocabulary: &mut Vocabulary) -> Factored {
    let PluginArgs::NodeAffinity(args) = args else { return Err(other_args("NodeAffinityArgs")) };
    Ok(Arc::new(match &args.added_affinity {
        Some(added) => NodeAffinity::with_added(added, vocabulary),
        None => NodeAffinity::default(),
    }))
}

fn node_resources_fit(args: &PluginArgs, vocabulary: &mut Vocabulary) -> Factored {
    let PluginArgs::NodeResourcesFit(args) = args else { return Err(other_args("NodeResourcesFitArgs")) };
    let names: Vec<&str> = args.ignored_resources.iter().map(String::as_str).collect();
    let groups: Vec<&str> = args.ignored_resource_groups.iter().map(String::as_str).collect();
    Ok(Arc::new(
        NodeResourcesFit::new(args.scoring_strategy.clone(), vocabulary)
            .ignoring(&names, vocabulary)
            .ignoring_groups(&groups),
    ))
}

fn balanced_allocation(args: &PluginArgs, vocabulary: &mut Vocabulary) -> Factored {
    let PluginArgs::NodeResourcesBalancedAllocation(args) = args else {
        return Err(other_args("NodeResourcesBalancedAllocationArgs"));
    };
    let names: Vec<&str> = args.resources.iter().map(String::as_str).collect();
    Ok(Arc::new(NodeResourcesBalancedAllocation::over(&names, vocabulary)))
}

fn volume_binding(args: &PluginArgs, _: &mut Vocabulary) -> Factored {
    let PluginArgs::VolumeBinding(args) = args else { return Err(other_args("VolumeBindingArgs")) };
    let scaled = |&(utilization, score): &(i64, i64)| (utilization, score * SHAPE_SCALE);
    Ok(Arc::new(VolumeBinding::with_shape(args.shape.iter().map(scaled).collect())))
}

fn pod_topology_spread(args: &PluginArgs, vocabulary: &mut Vocabulary) -> Factored {
    let PluginArgs::PodTopologySpread(args) = args else { return Err(other_args("PodTopologySpreadArgs")) };
    let defaults = match args.defaulting {
        Defaulting::System => DefaultConstraints::System,
        Defaulting::List => DefaultConstraints::List(args.default_constraints.clone()),
    };
    Ok(Arc::new(PodTopologySpread::new(defaults, vocabulary)))
}

fn inter_pod_affinity(args: &PluginArgs, _: &mut Vocabulary) -> Factored {
    let PluginArgs::InterPodAffinity(args) = args else { return Err(other_args("InterPodAffinityArgs")) };
    Ok(Arc::new(InterPodAffinity {
        hard_pod_affinity_weight: args.hard_pod_affinity_weight,
        ignore_preferred_of_existing: args.ignore_preferred_terms_of_existing_pods,
    }))
}

fn default_preemption(args: &PluginArgs, _: &mut Vocabulary) -> Factored {
    let PluginArgs::DefaultPreemption(args) = args else { return Err(other_args("DefaultPreemptionArgs")) };
    let count = |value: i32| usize::try_from(value).map_err(|_| format!("{value} is negative"));
    Ok(Arc::new(DefaultPreemption {
        args: PreemptionArgs {
            candidates_min_percent: count(args.min_candidate_nodes_percentage)?,
            candidates_min: count(args.min_candidate_nodes_absolute)?,
        },
    }))
}

/// The default profile, in upstream's order and with upstream's weights.
/// Upstream: apis/config/v1/default_plugins.go.
#[must_use]
pub fn default_profile(vocabulary: &mut Vocabulary) -> Profile {
    let registry = Registry::new_in_tree();
    let config = ProfileConfig {
        scheduler_name: DEFAULT_SCHEDULER_NAME.to_owned(),
        percentage_of_nodes_to_score: 0,
        plugins: registry.default_plugins(),
        args: BTreeMap::new(),
    };
    build_profile(&registry, &config, vocabulary).expect("the default plugins are registered")
}
