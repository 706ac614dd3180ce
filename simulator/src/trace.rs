//! What happened, in words.

use schedlab_core::scheduler::{ScheduleOneOutcome, Scheduler};

use schedlab_cluster::api::{PodFlags, WatchEvent, WatchedObject};

pub(super) fn event_text(event: &WatchEvent) -> String {
    match &event.object {
        WatchedObject::Pod(row) => {
            let node = row.node.map(|name| format!(" on n{}", name.index())).unwrap_or_default();
            let named =
                row.nominated.map(|name| format!(" nominated to n{}", name.index())).unwrap_or_default();
            let leaves = if row.flags.contains(PodFlags::TERMINATING) { " leaving" } else { "" };
            format!("pod {} {:?}{node}{named}{leaves}", row.uid.0, event.kind)
        }
        WatchedObject::Node(entry) => format!("node {} {:?}", entry.input.name, event.kind),
        WatchedObject::PodEvent(_) => format!("Event {:?}", event.kind),
        WatchedObject::Other(object) => format!("{} {:?}", object.kind, event.kind),
    }
}

pub(super) fn step_text(scheduler: &Scheduler, step: &ScheduleOneOutcome) -> String {
    let world = scheduler.world();
    let (pod, what) = match step {
        ScheduleOneOutcome::Idle => return "finds nothing to try".to_owned(),
        ScheduleOneOutcome::Assumed { pod, choice } => {
            (pod, format!("placed on {}", world.node_name(world.nodes().columns().id[choice.row])))
        }
        ScheduleOneOutcome::Unschedulable { pod } => (pod, "unschedulable".to_owned()),
        ScheduleOneOutcome::Failed { pod } => (pod, "failed".to_owned()),
        ScheduleOneOutcome::NominatedMissed { pod } => (pod, "missed its nominated node".to_owned()),
    };
    let row = world.pods().get(*pod);
    let named = row.nominated().map(|node| world.node_name(node));
    format!("tries pod {}: {what}, {:?}, nominated {named:?}", row.uid.0, scheduler.standing(*pod))
}
