//! Controllers: what acts on a cluster beside its schedulers.
//!
//! ```text
//!              events, time, answers                    calls as values
//!  watch ───────────────────────────▶ dyn Controller ───────────────────▶ Api
//!            ▲                             │
//!            └── a runner: threads, virtual time, the simulator ◀──┘ report at the end
//! ```
//!
//! A controller performs nothing and reads no clock, as the scheduler does not; [`Controller`] says what it
//! is. Three runners run any set of them: [`crate::runtime::WallController`] on threads,
//! [`crate::runtime::virtual_time::VirtualController`] in virtual time, and the simulator, which puts the
//! second under faults. None of them runs unless it is asked for, by its name or by its feature gate.
//!
//! A controller is a folder here, named as upstream's in pkg/controller, and a line of [`IN_TREE`].
//! docs/writing-a-controller.md is the recipe.

mod amounts;
pub mod cluster_autoscaler;
mod cluster_view;
mod config;
mod controller;
pub mod daemon;
pub mod deployment;
pub mod descheduler;
mod descriptor;
pub mod disruption;
mod evictable;
pub mod job;
pub mod kubelet;
pub mod kueue;
mod mutants;
pub mod node_lifecycle;
mod node_rules;
mod owned;
mod owner;
mod pod_template;
pub mod replicaset;
mod report;
pub mod rescheduler;
pub mod statefulset;
pub mod taint_eviction;
#[cfg(test)]
mod testing;
mod work;

pub(crate) use controller::perform_all;
pub use controller::{
    CallToken, ConditionWrite, Controller, ControllerAnswer, ControllerCall, ControllerContext,
    ControllerRequest, Remaining, SideTables,
};
pub(crate) use descriptor::{Concerns, Listed};
pub use descriptor::{
    ControllerConfigError, ControllerDescriptor, ControllerSettings, EnabledController, PodsWatched,
    Sharding, WatchScope,
};
pub use mutants::{ControllerMutant, ControllerMutants};
pub use report::{ControllerReport, CounterValue, LatencySamples};

/// All controllers, in the order in which they are started.
pub const IN_TREE: &[ControllerDescriptor] = &[
    node_lifecycle::DESCRIPTOR,
    taint_eviction::DESCRIPTOR,
    disruption::DESCRIPTOR,
    deployment::DESCRIPTOR,
    replicaset::DESCRIPTOR,
    statefulset::DESCRIPTOR,
    daemon::DESCRIPTOR,
    job::DESCRIPTOR,
    cluster_autoscaler::DESCRIPTOR,
    kueue::DESCRIPTOR,
    descheduler::DESCRIPTOR,
    rescheduler::DESCRIPTOR,
    kubelet::DESCRIPTOR,
];

/// The names of all controllers, as kube-controller-manager has them.
pub fn names() -> impl Iterator<Item = &'static str> {
    IN_TREE.iter().map(|descriptor| descriptor.name)
}

/// The controller of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static ControllerDescriptor> {
    IN_TREE.iter().find(|descriptor| descriptor.name == name)
}

/// The controllers that run: those that are asked for, and those whose feature gate is on. Each once, in
/// the order of [`IN_TREE`]; of one that is asked for twice the last configuration counts.
pub fn enabled(asked: &[EnabledController], is_gate_on: impl Fn(&str) -> bool) -> Vec<EnabledController> {
    let runs = |descriptor: &'static ControllerDescriptor| {
        let asked = asked.iter().rev().find(|asked| asked.descriptor.name == descriptor.name).cloned();
        let by_gate = descriptor.started_by_feature_gate.filter(|gate| is_gate_on(gate));
        asked.or_else(|| by_gate.map(|_| EnabledController::new(descriptor)))
    };
    IN_TREE.iter().filter_map(runs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controller_names_are_unique_and_found() {
        for descriptor in IN_TREE {
            assert_eq!(find(descriptor.name).expect("a name of the list").about, descriptor.about);
            assert_eq!(names().filter(|name| *name == descriptor.name).count(), 1, "{}", descriptor.name);
        }
        assert!(find("no-such-controller").is_none());
    }

    #[test]
    fn every_folder_of_a_controller_is_in_the_list() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/controllers");
        let entries = std::fs::read_dir(folder).expect("the folder of this file");
        let folders = entries.filter(|entry| entry.as_ref().expect("an entry").path().is_dir()).count();
        assert_eq!(
            folders,
            IN_TREE.len(),
            "a folder is a controller, and a controller is a line of the list"
        );
    }

    #[test]
    fn controller_runs_if_asked_for_or_if_its_feature_gate_is_on() {
        let names = |asked: &[&str], gate: Option<&str>| {
            let asked: Vec<EnabledController> =
                asked.iter().map(|name| EnabledController::new(find(name).expect("known"))).collect();
            let enabled = enabled(&asked, |name| gate == Some(name));
            enabled.iter().map(|it| it.descriptor.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&[], None), [""; 0]);
        assert_eq!(names(&[], Some("NodeAffinityRequiredDuringExecution")), ["taint-eviction-controller"]);
        assert_eq!(
            names(
                &["taint-eviction-controller", "node-lifecycle-controller"],
                Some("NodeAffinityRequiredDuringExecution")
            ),
            ["node-lifecycle-controller", "taint-eviction-controller"],
            "each once, in the order of the list"
        );
    }
}
