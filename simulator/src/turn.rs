//! A scheduler's turn: it is woken, it tries a pod, and what follows from it.

use schedlab_core::cycle::probe::NoProbe;
use schedlab_core::ids::PodId;
use schedlab_core::pods::PodState;
use schedlab_core::queue::QueuePlace;
use schedlab_core::scheduler::ScheduleOneOutcome;

use super::actor::Actor;
use super::check::number_of_id;
use super::item::Item;
use super::run::Simulation;
use super::trace::step_text;
use super::violation::Invariant;

/// How often a pod may be tried although nothing happened: a nomination that was missed is tried
/// twice, and another pod's attempt may have made room.
const IDLE_ATTEMPTS_MAX: u32 = 6;
const MS: u64 = 1_000_000;

impl Simulation<'_> {
    pub(super) fn wake(&mut self, number: u8, incarnation: u32) -> bool {
        let now_ns = self.now_ns();
        let actor = &mut self.actors[usize::from(number)];
        if actor.incarnation != incarnation || actor.wake_ns != Some(now_ns) {
            return false;
        }
        actor.wake_ns = None;
        actor.causes += 1;
        actor.scheduler_mut().advance(now_ns);
        self.after(usize::from(number));
        true
    }

    pub(super) fn step(&mut self, number: u8, incarnation: u32) -> bool {
        let at = usize::from(number);
        let now_ns = self.now_ns();
        let actor = &mut self.actors[at];
        if actor.incarnation != incarnation {
            return false;
        }
        actor.step_is_due = false;
        actor.scheduler_mut().advance(now_ns);
        // What comes of the time that has passed is known before the next pod is tried.
        self.take_calls(at, None);
        let actor = &mut self.actors[at];
        let first = first_priority(actor);
        let assumed = actor.scheduler().counts().assumed;
        note_nominations(actor);
        let step = actor.scheduler_mut().schedule_one(&mut NoProbe);
        actor.has_evicted_in_memory = actor.scheduler().counts().assumed < assumed;
        if self.trace.is_some() {
            let text = step_text(self.actors[at].scheduler(), &step);
            self.note(|| format!("scheduler {number} {text}"));
        }
        let actor = &mut self.actors[at];
        let preemptor = match step {
            ScheduleOneOutcome::Idle => None,
            ScheduleOneOutcome::Assumed { pod, choice } => {
                let world = actor.scheduler().world();
                let node = number_of_id(world, world.nodes().columns().id[choice.row]);
                self.check_attempt(at, pod, first);
                self.check_choice(at, pod, node);
                // It may stand in the way of others, who then evict it before it is bound: no event tells of
                // that, and none of the API's has to.
                self.actors[at].causes += 1;
                None
            }
            ScheduleOneOutcome::NominatedMissed { pod } => {
                self.check_attempt(at, pod, first);
                None
            }
            ScheduleOneOutcome::Unschedulable { pod } | ScheduleOneOutcome::Failed { pod } => {
                self.check_attempt(at, pod, first);
                self.note_failure(at, pod);
                if matches!(step, ScheduleOneOutcome::Unschedulable { .. }) {
                    self.check_makes_room(at, pod);
                }
                Some(self.actors[at].scheduler().world().pods().get(pod).uid)
            }
        };
        self.take_calls(at, preemptor);
        self.after(at);
        true
    }

    /// What follows from anything that a scheduler was told or did.
    pub(super) fn after(&mut self, at: usize) {
        self.take_calls(at, None);
        self.read_board(at);
        let now_ns = self.now_ns();
        let cycle_ns = self.scenario.setup.cycle_ns;
        let actor = &mut self.actors[at];
        let (number, incarnation) = (actor.number, actor.incarnation);
        let has_work = actor.scheduler().has_work() && !actor.virtual_scheduler.is_blocked();
        let steps = has_work && !actor.step_is_due;
        actor.step_is_due |= has_work;
        let wake_ns = actor.scheduler().next_wake_ns().map(|wake_ns| wake_ns.max(now_ns + 1));
        let wakes = wake_ns.filter(|&wake_ns| actor.wake_ns.is_none_or(|known_ns| wake_ns < known_ns));
        if let Some(wake_ns) = wakes {
            actor.wake_ns = Some(wake_ns);
        }
        if steps {
            self.push(now_ns + cycle_ns, Item::Step { actor: number, incarnation });
        }
        if let Some(wake_ns) = wakes {
            self.push(wake_ns, Item::Wake { actor: number, incarnation });
        }
        self.check_owners(at);
        self.check_snapshot(at);
    }

    fn check_attempt(&mut self, at: usize, pod: PodId, first: Option<i32>) {
        let now_ns = self.now_ns();
        let actor = &mut self.actors[at];
        let row = *actor.scheduler().world().pods().get(pod);
        let priority = actor.scheduler().world().class(row.class).priority;
        let causes = actor.causes;
        let record = actor.record(row.uid);
        record.attempts_since += 1;
        record.is_newly_named = false;
        let is_idle = record.causes == causes && now_ns - record.tried_ns < 900 * MS;
        record.idle_attempts = if is_idle { record.idle_attempts + 1 } else { 0 };
        (record.causes, record.tried_ns) = (causes, now_ns);
        let idle_attempts = record.idle_attempts;
        self.checks.note(Invariant::BoundedAttempts);
        self.checks.note(Invariant::PriorityOrder);
        if idle_attempts > IDLE_ATTEMPTS_MAX {
            self.fail(Invariant::BoundedAttempts, || {
                format!("pod {} was tried {idle_attempts} times although nothing happened", row.uid.0)
            });
        }
        if first.is_some_and(|first| priority < first) {
            self.fail(Invariant::PriorityOrder, || {
                format!("pod {} of priority {priority} was tried before one of priority {first:?}", row.uid.0)
            });
        }
    }
}

/// Notes who is nominated where.
fn note_nominations(actor: &mut Actor) {
    let mut nominated = std::mem::take(&mut actor.nominated_before);
    nominated.clear();
    let world = actor.scheduler().world();
    for (node, pods) in world.nominator().nodes() {
        let node = number_of_id(world, node);
        nominated.extend(pods.iter().map(|nominated| (nominated.pod, node)));
    }
    actor.nominated_before = nominated;
}

/// The highest priority among the pods that are ready.
fn first_priority(actor: &Actor) -> Option<i32> {
    let scheduler = actor.scheduler();
    let (world, queue) = (scheduler.world(), scheduler.queue());
    let ready = world.pods().ids().filter(|&pod| {
        world.pods().get(pod).state == PodState::Pending && queue.place(pod) == QueuePlace::Active
    });
    let classes = ready.map(|pod| world.class(world.pods().get(pod).class));
    classes.filter(|class| !class.is_terminating).map(|class| class.priority).max()
}
