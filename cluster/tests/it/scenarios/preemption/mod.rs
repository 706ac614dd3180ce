//! Which pods are preempted for which. Upstream: test/integration/scheduler/preemption.

mod async_preemption;
mod disruption_target;
mod nominated_node_name;
mod pod_disruption_budgets;
mod read_write_once_pod;
mod victims;
mod waiting_pods;

use super::lab::Lab;
use super::manifest::Manifest;
use super::setup::Setup;

/// The situation with victims evicted beside the scheduling loop and in it, with calls queued and
/// not.
fn every_way(setup: &Setup, play: impl Fn(&mut Lab)) {
    for is_async in [true, false] {
        for queues_calls in [true, false] {
            let setup = setup
                .clone()
                .without_backoff()
                .gate("SchedulerAsyncPreemption", is_async)
                .gate("SchedulerAsyncAPICalls", queues_calls);
            play(&mut setup.start());
        }
    }
}

/// Which of these pods are gone, or are going.
fn evicted<'a>(lab: &Lab, pods: &[&'a str]) -> Vec<&'a str> {
    let is_going = |name: &str| lab.pod(name).metadata.deletion_timestamp.is_some();
    pods.iter().copied().filter(|name| !lab.exists(name) || is_going(name)).collect()
}

/// Places pods one after the other.
fn settle(lab: &mut Lab, pods: impl IntoIterator<Item = Manifest>) {
    for pod in pods {
        let name = pod.name().to_owned();
        lab.create(pod);
        lab.run();
        assert!(lab.node_of(&name).is_some(), "{name} finds its place: {:?}", lab.reasons());
    }
}
