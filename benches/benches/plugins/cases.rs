//! The pods that make each plugin work, and what is expected of the answer.

use std::ops::Range;

use schedlab_benches::pods::{PodKind, requesting};
use schedlab_core::framework::args::{NodeResourcesFitArgs, PluginArgs};
use schedlab_core::input::{
    LabelSelectorInput, PodAffinityInput, PodAffinityTermInput, PodInput, SpreadConstraintInput, VolumeInput,
    VolumeSourceInput,
};
use schedlab_core::naive::schedule::Profile as NaiveProfile;
use schedlab_core::plugins::node_resources_fit::naive::{ShapePoint, Strategy as NaiveStrategy};
use schedlab_core::plugins::node_resources_fit::{ScoringStrategy, Strategy};

/// The keys that domains are made of.
pub(crate) const HOST: &str = "kubernetes.io/hostname";
pub(crate) const ZONE: &str = "topology.kubernetes.io/zone";

/// One plugin with one pod.
pub(crate) struct Case {
    /// Its part of the bench's path.
    pub(crate) path: &'static str,
    /// The plugin.
    pub(crate) plugin: &'static str,
    /// Its arguments.
    pub(crate) args: PluginArgs,
    /// The pod.
    pub(crate) pod: PodInput,
    /// Percent of the nodes that Filter keeps.
    pub(crate) keeps: Range<usize>,
    /// The twin is asked about one row in so many: some twins search all objects for each node.
    pub(crate) twin_every: usize,
}

impl Case {
    fn new(path: &'static str, plugin: &'static str, pod: PodInput) -> Case {
        Case { path, plugin, args: PluginArgs::default_of(plugin), pod, keeps: 1..100, twin_every: 1 }
    }

    fn keeping(self, keeps: Range<usize>) -> Case {
        Case { keeps, ..self }
    }

    fn rarely(self) -> Case {
        Case { twin_every: 64, ..self }
    }

    /// The twin's profile of this plugin alone.
    pub(crate) fn naive_profile(&self) -> NaiveProfile {
        let mut profile = NaiveProfile {
            filter_plugins: vec![self.plugin],
            score_plugins: vec![(self.plugin, 1)],
            ..NaiveProfile::default()
        };
        if let PluginArgs::NodeResourcesFit(args) = &self.args {
            profile.fit.strategy = match &args.scoring_strategy.strategy {
                Strategy::LeastAllocated => NaiveStrategy::LeastAllocated,
                Strategy::MostAllocated => NaiveStrategy::MostAllocated,
                Strategy::RequestedToCapacityRatio(shape) => {
                    let point =
                        |&(utilization, score): &(i64, i64)| ShapePoint { utilization, score: score / 10 };
                    NaiveStrategy::RequestedToCapacityRatio(shape.iter().map(point).collect())
                }
            };
        }
        profile
    }
}

/// A plain pod with a label.
pub(crate) fn labelled(app: &str) -> PodInput {
    let mut pod = requesting("100m", "200Mi");
    pod.labels.insert("app".to_owned(), app.to_owned());
    pod
}

fn selecting(app: &str) -> Option<LabelSelectorInput> {
    let match_labels = [("app".to_owned(), app.to_owned())].into();
    Some(LabelSelectorInput { match_labels, match_expressions: Vec::new() })
}

fn term(app: &str, key: &str) -> PodAffinityTermInput {
    PodAffinityTermInput {
        label_selector: selecting(app),
        topology_key: key.to_owned(),
        ..PodAffinityTermInput::default()
    }
}

/// Required terms.
pub(crate) fn requiring(app: &str, key: &str) -> PodAffinityInput {
    PodAffinityInput { required: vec![term(app, key)], preferred: Vec::new() }
}

/// Preferred terms.
pub(crate) fn preferring(app: &str, key: &str) -> PodAffinityInput {
    PodAffinityInput { required: Vec::new(), preferred: vec![(10, term(app, key))] }
}

fn spread(key: &str, max_skew: i32, schedule_anyway: bool) -> SpreadConstraintInput {
    SpreadConstraintInput {
        max_skew,
        topology_key: key.to_owned(),
        schedule_anyway,
        label_selector: selecting("web"),
        ..SpreadConstraintInput::default()
    }
}

/// A pod that uses a claim.
pub(crate) fn claiming(name: &str) -> PodInput {
    let source = VolumeSourceInput::Claim { claim_name: name.to_owned(), read_only: false };
    PodInput { volumes: vec![VolumeInput { name: "data".to_owned(), source }], ..requesting("100m", "200Mi") }
}

/// A pod that uses a disk that one node at a time can write to.
pub(crate) fn with_disk(name: &str) -> PodInput {
    let source = VolumeSourceInput::GcePersistentDisk { pd_name: name.to_owned(), read_only: false };
    PodInput { volumes: vec![VolumeInput { name: "disk".to_owned(), source }], ..requesting("100m", "200Mi") }
}

/// Filter.
pub(crate) fn filter_cases() -> Vec<Case> {
    let plain = || PodKind::Plain.spec();
    let mut restarting = plain();
    restarting.containers[0].may_restart_all = true;
    let web = || labelled("web");
    let hard = PodInput { spread_constraints: vec![spread(ZONE, 1, false), spread(HOST, 1, false)], ..web() };
    vec![
        Case::new("node_name", "NodeName", PodInput { node_name: Some("node-000007".to_owned()), ..plain() })
            .keeping(0..2),
        Case::new("node_unschedulable", "NodeUnschedulable", plain()),
        Case::new("taint_toleration", "TaintToleration", plain()),
        Case::new("node_affinity", "NodeAffinity", PodKind::RequiredAffinity.spec()),
        Case::new("node_ports", "NodePorts", PodKind::HostPort.spec()),
        Case::new("resources_fit", "NodeResourcesFit", requesting("6", "4Gi")),
        Case::new("node_declared_features", "NodeDeclaredFeatures", restarting),
        Case::new("pod_topology_spread/hard", "PodTopologySpread", hard),
        Case::new(
            "inter_pod_affinity/required",
            "InterPodAffinity",
            PodInput { pod_affinity: requiring("web", HOST), ..labelled("near") },
        ),
        Case::new(
            "inter_pod_affinity/anti",
            "InterPodAffinity",
            PodInput { pod_anti_affinity: requiring("web", HOST), ..labelled("far") },
        ),
        Case::new("inter_pod_affinity/symmetric", "InterPodAffinity", labelled("lonely")),
        Case::new("volume_binding/wait_for_consumer", "VolumeBinding", claiming("open")).rarely(),
        Case::new("volume_binding/bound", "VolumeBinding", claiming("bound")).rarely(),
        Case::new("volume_zone", "VolumeZone", claiming("zonal")).rarely(),
        Case::new("volume_restrictions", "VolumeRestrictions", with_disk("disk-1")),
        Case::new("node_volume_limits", "NodeVolumeLimits", claiming("attached")).rarely(),
    ]
}

fn fit(path: &'static str, strategy: Strategy) -> Case {
    let scoring_strategy = ScoringStrategy { strategy, ..ScoringStrategy::least_allocated() };
    let args = NodeResourcesFitArgs { scoring_strategy, ..NodeResourcesFitArgs::default() };
    Case {
        args: PluginArgs::NodeResourcesFit(args),
        ..Case::new(path, "NodeResourcesFit", PodKind::Plain.spec())
    }
}

/// Score and NormalizeScore.
pub(crate) fn score_cases() -> Vec<Case> {
    let plain = || PodKind::Plain.spec();
    let web = || labelled("web");
    let soft = PodInput { spread_constraints: vec![spread(ZONE, 1, true), spread(HOST, 1, true)], ..web() };
    vec![
        Case::new("taint_toleration", "TaintToleration", plain()),
        Case::new("node_affinity", "NodeAffinity", PodKind::PreferredAffinity.spec()),
        fit("resources_fit/least_allocated", Strategy::LeastAllocated),
        fit("resources_fit/most_allocated", Strategy::MostAllocated),
        fit(
            "resources_fit/requested_to_capacity_ratio",
            Strategy::RequestedToCapacityRatio(vec![(0, 0), (70, 100), (100, 30)]),
        ),
        Case::new("balanced_allocation", "NodeResourcesBalancedAllocation", plain()),
        Case::new("image_locality", "ImageLocality", plain()),
        Case::new("pod_topology_spread/soft", "PodTopologySpread", soft),
        // A service selects these pods, so upstream's own constraints hold.
        Case::new("pod_topology_spread/default", "PodTopologySpread", web()),
        Case::new(
            "inter_pod_affinity/preferred",
            "InterPodAffinity",
            PodInput { pod_affinity: preferring("web", HOST), ..labelled("near") },
        ),
        Case::new(
            "inter_pod_affinity/anti_preferred",
            "InterPodAffinity",
            PodInput { pod_anti_affinity: preferring("web", ZONE), ..labelled("far") },
        ),
        Case::new("inter_pod_affinity/symmetric", "InterPodAffinity", labelled("liked")),
    ]
}
