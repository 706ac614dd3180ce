//! The invariants over a scheduler's state between events: who owns which pod, and what nodes carry.

use schedlab_core::binding::BindingStage;
use schedlab_core::ids::PodUid;
use schedlab_core::pods::PodState;
use schedlab_core::queue::QueuePlace;

use super::actor::Actor;
use super::carried::Load;
use super::check::number_of_id;
use super::run::Simulation;
use super::scenario::NODES_MAX;
use super::violation::Invariant;
use schedlab_cluster::api::StoredPodRow;

impl Simulation<'_> {
    /// Every pod is in one place, and what is in flight is accounted for.
    pub(super) fn check_owners(&mut self, at: usize) {
        self.checks.note(Invariant::OneOwner);
        if let Err((invariant, message)) = owners(&self.actors[at]) {
            self.fail(invariant, || message);
        }
    }

    /// Nodes carry what the events and the assumed pods say.
    pub(super) fn check_snapshot(&mut self, at: usize) {
        self.checks.note(Invariant::SnapshotEqualsEvents);
        self.actors[at].scheduler_mut().settle();
        let must = self.loads(at);
        let actor = &self.actors[at];
        let world = actor.scheduler().world();
        let nodes = world.nodes();
        let columns = nodes.columns();
        let known = actor.carried.nodes.iter().flatten().count();
        let count = nodes.node_count();
        if count != known {
            return self
                .fail(Invariant::SnapshotEqualsEvents, || format!("{count} nodes are known, not {known}"));
        }
        for row in 0..count {
            let number = usize::from(number_of_id(world, columns.id[row]));
            let is = Load {
                cpu_milli: columns.requested_cpu_milli[row],
                memory_bytes: columns.requested_memory_bytes[row],
                pods: columns.pod_count[row],
            };
            let has = (columns.allocatable_cpu_milli[row], columns.allocatable_pods[row]);
            let must = must[number];
            let shape = actor.carried.nodes[number];
            let must_have = shape.map(|shape| (i64::from(shape.cpu_milli), i64::from(shape.pods)));
            if is != must || Some(has) != must_have {
                return self.fail(Invariant::SnapshotEqualsEvents, || {
                    format!("n{number} carries {is:?} of {has:?}, not {must:?} of {must_have:?}")
                });
            }
        }
    }

    /// What nodes must carry: the pods that events put there, and those on their way.
    fn loads(&self, at: usize) -> [Load; NODES_MAX as usize] {
        let actor = &self.actors[at];
        let mut loads = actor.carried.loads;
        let world = actor.scheduler().world();
        let pods = world.pods();
        for known in pods.ids().map(|pod| pods.get(pod)).filter(|row| row.state == PodState::Assumed) {
            let seen = actor.seen.pods.get(&known.uid);
            let is_on_its_way = |row: &&StoredPodRow| row.node.is_none() && !row.phase.is_finished();
            if let (Some(node), Some(row)) = (known.node(), seen.filter(is_on_its_way)) {
                loads[usize::from(number_of_id(world, node))].add(self.shape_of(row));
            }
        }
        loads
    }
}

/// Who owns each pod.
fn owners(actor: &Actor) -> Result<(), (Invariant, String)> {
    let scheduler = actor.scheduler();
    let (world, queue, bindings) = (scheduler.world(), scheduler.queue(), scheduler.binding_cycles());
    let wrong = |uid: PodUid, what: String| Err((Invariant::OneOwner, format!("pod {} {what}", uid.0)));
    let has_bindings = !bindings.is_empty();
    let mut in_flight = 0;
    for pod in world.pods().ids() {
        let row = world.pods().get(pod);
        let place = queue.place(pod);
        let cycle = if has_bindings { bindings.get(row.uid) } else { None };
        let stage = cycle.map(|cycle| &cycle.stage);
        in_flight += usize::from(place == QueuePlace::InFlight);
        if actor.seen.pods.get(&row.uid).is_none_or(|seen| seen.phase.is_finished()) {
            return wrong(row.uid, "is known, but the watch said it is gone".to_owned());
        }
        let is_right = match row.state {
            PodState::Pending => {
                let is_skipped = world.class(row.class).is_terminating;
                cycle.is_none() && (place != QueuePlace::Out || is_skipped) && place != QueuePlace::InFlight
            }
            PodState::Assumed => {
                let record = actor.records.get(&row.uid).copied().unwrap_or_default();
                let is_on_its_way = cycle.is_some() || record.binding.is_some() || record.was_bound;
                is_on_its_way
                    && match place {
                        QueuePlace::Out => true,
                        QueuePlace::InFlight => matches!(
                            stage,
                            Some(BindingStage::WritingNominatedNodeName(_) | BindingStage::Permit)
                        ),
                        _ => false,
                    }
            }
            PodState::Bound => {
                place == QueuePlace::Out && matches!(stage, None | Some(BindingStage::Binding(_)))
            }
            PodState::Foreign => place == QueuePlace::Out && cycle.is_none(),
        };
        if !is_right {
            return wrong(
                row.uid,
                format!("is {:?} and in the queue at {place:?}, on its way: {stage:?}", row.state),
            );
        }
    }
    let known = actor.carried.pod_count;
    if world.pods().len() != known {
        return Err((Invariant::OneOwner, format!("{} pods are known, not {known}", world.pods().len())));
    }
    let counted = queue.counts().in_flight;
    if counted != in_flight || (in_flight == 0 && queue.in_flight_event_count() > 0) {
        let kept = queue.in_flight_event_count();
        return Err((
            Invariant::NothingLeaks,
            format!("{in_flight} pods in flight, {counted} counted, {kept} events kept"),
        ));
    }
    if let Some(ghost) = bindings.pods().filter(|&uid| world.pods().find(uid).is_none()).min() {
        return wrong(ghost, "is on its way to a node, but unknown".to_owned());
    }
    Ok(())
}
