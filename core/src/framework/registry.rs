//! The plugins that ship with the engine and the default profile made of them.

use std::sync::Arc;

use crate::framework::plugin::Plugin;
use crate::framework::profile::Profile;
use crate::interner::Vocabulary;
use crate::plugins::default_binder::DefaultBinder;
use crate::plugins::image_locality::ImageLocality;
use crate::plugins::inter_pod_affinity::InterPodAffinity;
use crate::plugins::node_affinity::NodeAffinity;
use crate::plugins::node_declared_features::NodeDeclaredFeatures;
use crate::plugins::node_name::NodeName;
use crate::plugins::node_ports::NodePorts;
use crate::plugins::node_resources_balanced_allocation::NodeResourcesBalancedAllocation;
use crate::plugins::node_resources_fit::{NodeResourcesFit, ScoringStrategy};
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

/// The default profile, in upstream's order and with upstream's weights.
/// Upstream: apis/config/v1/default_plugins.go.
#[must_use]
pub fn default_profile(vocabulary: &mut Vocabulary) -> Profile {
    profile_with(ScoringStrategy::least_allocated(), vocabulary)
}

/// The default profile with another scoring strategy for NodeResourcesFit.
#[must_use]
pub fn profile_with(strategy: ScoringStrategy, vocabulary: &mut Vocabulary) -> Profile {
    let plugins: Vec<(Arc<dyn Plugin>, i64)> = vec![
        (Arc::new(SchedulingGates), 0),
        (Arc::new(PrioritySort), 0),
        (Arc::new(NodeName), 0),
        (Arc::new(NodeUnschedulable::new(vocabulary)), 0),
        (Arc::new(TaintToleration), 3),
        (Arc::new(NodeAffinity::default()), 2),
        (Arc::new(NodePorts), 0),
        (Arc::new(NodeResourcesFit::new(strategy, vocabulary)), 1),
        (Arc::new(VolumeRestrictions), 0),
        (Arc::new(NodeVolumeLimits), 0),
        (Arc::new(VolumeBinding::default()), 1),
        (Arc::new(VolumeZone::new(vocabulary)), 0),
        (Arc::new(PodTopologySpread::new(DefaultConstraints::System, vocabulary)), 2),
        (Arc::new(InterPodAffinity::default()), 2),
        (Arc::new(NodeDeclaredFeatures), 0),
        (Arc::new(NodeResourcesBalancedAllocation::default()), 1),
        (Arc::new(ImageLocality), 1),
        (Arc::new(DefaultBinder), 0),
    ];
    Profile::new(DEFAULT_SCHEDULER_NAME, plugins)
}
