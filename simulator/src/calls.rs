//! The way of a call: from the scheduler through the client's limit to the API, and the answer's
//! way back. Every call is judged when it is made: is it one that the KEPs allow?

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;
use schedlab_core::api_call::ConditionChange;
use schedlab_core::binding::{CallFailure, CallId};
use schedlab_core::cycle::select::Draws;
use schedlab_core::ids::PodUid;
use schedlab_core::scheduler::NominatedNodeNameMiss;

use super::actor::kind_of;
use super::faults::{CallFault, SimulatedCallKind};
use super::item::Item;
use super::run::Simulation;
use super::violation::Invariant;
use schedlab_cluster::api::{NominatedNodeNamePatch, PodFlags};
use schedlab_cluster::runtime::virtual_time::{Effect, ReadyCall};

const SECOND: u64 = 1_000_000_000;
/// After how long a client gives up on an answer.
const CALL_TIMEOUT_NS: u64 = 5 * SECOND;

impl Simulation<'_> {
    /// Takes what a scheduler wants done. `preemptor` is the pod whose attempt just failed.
    pub(super) fn take_calls(&mut self, at: usize, preemptor: Option<PodUid>) {
        let mut calls = std::mem::take(&mut self.calls);
        self.actors[at].virtual_scheduler.take_calls(&self.api, &mut calls);
        if let Some(preemptor) = preemptor.filter(|_| !calls.is_empty()) {
            self.check_budgets(at, preemptor, &calls);
            self.check_room_is_held(at, preemptor, &calls);
            self.check_waits_for_victims(at, preemptor, &calls);
        }
        for call in calls.drain(..) {
            self.judge_call(at, &call, preemptor);
            let (flight, goes_out) = self.actors[at].line_up(call);
            if goes_out {
                self.go_out(at, flight);
            }
        }
        self.calls = calls;
    }

    fn go_out(&mut self, at: usize, number: u32) {
        let now_ns = self.now_ns();
        let flight = &self.actors[at].flights[&number];
        let (kind, pod) = (kind_of(&flight.call), flight.call.pod);
        let fault = self.take_fault(kind);
        let script_number = self.number_of(pod);
        let record = self.actors[at].record(pod);
        record.calls += 1;
        let bits = self.bits(3, script_number, u64::from(self.actors[at].records[&pod].calls));
        let actor = &mut self.actors[at];
        let starts_ns = actor.bucket.as_mut().map_or(now_ns, |bucket| bucket.take_ns(now_ns));
        let mut way_ns = self.scenario.setup.call.draw_ns(&mut Draws::new(bits));
        if fault == Some(CallFault::Slow) {
            way_ns += 2 * SECOND;
        }
        actor.flights.get_mut(&number).expect("it goes out now").fault = fault;
        let item = Item::Arrive { actor: actor.number, incarnation: actor.incarnation, flight: number };
        self.push(starts_ns + way_ns, item);
    }

    /// The fault that the next call of a kind meets, if any.
    pub(super) fn take_fault(&mut self, kind: SimulatedCallKind) -> Option<CallFault> {
        let met = self.armed.iter().position(|(met, ..)| *met == kind)?;
        let (_, how, count) = &mut self.armed[met];
        let how = *how;
        *count -= 1;
        if *count == 0 {
            self.armed.remove(met);
        }
        self.faults.note(how.into());
        Some(how)
    }

    pub(super) fn arrive(&mut self, number: u8, incarnation: u32, flight: u32) -> bool {
        let at = usize::from(number);
        if self.actors[at].incarnation != incarnation {
            return false;
        }
        let Some(under_way) = self.actors[at].flights.get(&flight) else { return false };
        let (fault, call) = (under_way.fault, under_way.call.clone());
        let (is_done, answer) = match fault {
            None | Some(CallFault::Slow) => (true, None),
            Some(CallFault::Error) => (false, Some(CallFailure::Transient)),
            Some(CallFault::Conflict) => (false, Some(CallFailure::Conflict)),
            Some(CallFault::LostRequest) => (false, Some(CallFailure::Other)),
            Some(CallFault::LostAnswer) => (true, Some(CallFailure::Other)),
        };
        self.note(|| format!("arrives: pod {} {:?} ({fault:?})", call.pod.0, call.effect));
        let mut result = Ok(0);
        if is_done {
            self.judge_arrival(at, &call);
            result = call.perform(&self.api);
            self.publish();
        }
        let result = answer.map_or(result, Err);
        let pod = call.pod;
        let calls = u64::from(self.actors[at].record(pod).calls);
        let bits = self.bits(9, self.number_of(pod), calls);
        let way_ns = match fault {
            Some(CallFault::LostRequest | CallFault::LostAnswer) => CALL_TIMEOUT_NS,
            _ => self.scenario.setup.call.draw_ns(&mut Draws::new(bits)),
        };
        self.log((11, pod.0, u64::from(result.is_ok())), self.now_ns());
        let under_way = self.actors[at].flights.get_mut(&flight).expect("looked up just now");
        under_way.result = Some(result);
        self.push(self.now_ns() + way_ns, Item::Answer { actor: number, incarnation, flight });
        true
    }

    pub(super) fn answer(&mut self, number: u8, incarnation: u32, flight: u32) -> bool {
        let at = usize::from(number);
        let now_ns = self.now_ns();
        if self.actors[at].incarnation != incarnation {
            return false;
        }
        let (flight, next) = self.actors[at].land(flight);
        let result = flight.result.expect("an answer has a result");
        self.note(|| format!("answer to call {} of pod {}: {result:?}", flight.call.id.0, flight.call.pod.0));
        let is_unsure = flight.fault == Some(CallFault::LostAnswer);
        let actor = &mut self.actors[at];
        actor.causes += 1;
        actor.scheduler_mut().advance(now_ns);
        actor.virtual_scheduler.answer(&flight.call, result, now_ns);
        let is_over = !self.actors[at].scheduler().dispatcher().knows(flight.call.id);
        let record = self.actors[at].record(flight.call.pod);
        match &flight.call.effect {
            Effect::Bind(_) => {
                record.binding = None;
                record.was_bound |= result.is_ok();
                record.is_unsure |= is_unsure;
            }
            Effect::Patch { .. } if result.is_err() && is_over => {
                record.patch_failed = true;
                record.said = None;
            }
            Effect::Patch { .. } => {}
            Effect::AddDisruptionTarget { .. } if result.is_err() && is_over => record.deletion = None,
            // Its deletion is what follows.
            Effect::AddDisruptionTarget { .. } => {}
            Effect::Delete => record.deletion = None,
            Effect::Volumes(_) | Effect::Claims(_) | Effect::PodGroup(_) => {}
        }
        if let Some(next) = next {
            self.go_out(at, next);
        }
        self.after(at);
        true
    }

    /// Whether the scheduler may want this.
    fn judge_call(&mut self, at: usize, call: &ReadyCall, preemptor: Option<PodUid>) {
        self.checks.note(Invariant::AllowedWrites);
        self.checks.note(Invariant::EffectsOnce);
        let now_ns = self.now_ns();
        let (kind, node) = match &call.effect {
            Effect::Bind(binding) => (20, binding.node.index()),
            Effect::Patch { .. } => (21, 0),
            Effect::Delete => (22, 0),
            Effect::Volumes(_) | Effect::Claims(_) => (23, 0),
            Effect::AddDisruptionTarget { .. } => (24, 0),
            Effect::PodGroup(_) => (25, 0),
        };
        self.log((kind, call.pod.0, node as u64), now_ns);
        self.note(|| {
            format!("scheduler {at} wants call {}: pod {} {:?}", call.id.0, call.pod.0, call.effect)
        });
        if call.id != CallId::UNTRACKED && !self.actors[at].judged.insert(call.id) {
            // It is made again, and was judged when it was wanted.
            return;
        }
        match &call.effect {
            Effect::Bind(_) => self.judge_binding(at, call.pod, call.id),
            Effect::AddDisruptionTarget { .. } | Effect::Delete => {
                self.judge_deletion(at, call.pod, call.id, preemptor);
            }
            Effect::Patch { nomination, condition } => {
                self.judge_nomination(at, call.pod, *nomination);
                if let Some(condition) = condition {
                    self.judge_condition(at, call.pod, condition);
                }
            }
            Effect::Volumes(_) | Effect::Claims(_) | Effect::PodGroup(_) => {}
        }
    }

    fn judge_binding(&mut self, at: usize, pod: PodUid, id: CallId) {
        let record = *self.actors[at].record(pod);
        if record.was_bound || record.binding.is_some() {
            self.fail(Invariant::EffectsOnce, || {
                format!("pod {} is bound again although its binding is made or on its way", pod.0)
            });
        }
        let seen = self.actors[at].seen.pods.get(&pod).copied();
        if seen.is_none_or(|row| row.node.is_some()) {
            self.fail(Invariant::AllowedWrites, || {
                format!("pod {} is bound although it is gone or known to be on a node", pod.0)
            });
        }
        self.actors[at].record(pod).binding = Some(id);
    }

    /// One preemptor evicts a victim once. Others may want the same victim.
    fn judge_deletion(&mut self, at: usize, pod: PodUid, id: CallId, preemptor: Option<PodUid>) {
        let record = self.actors[at].record(pod);
        let known = record.deletion;
        // What follows from an answer belongs to whoever asked first.
        record.deletion = Some((id, preemptor.or(known.and_then(|(_, by)| by))));
        if let Some((known, _)) = known.filter(|(known, by)| *known != id && by.is_some() && *by == preemptor)
        {
            self.fail(Invariant::EffectsOnce, || {
                format!("pod {} is deleted again for the same pod; call {} is on its way", pod.0, known.0)
            });
        }
    }

    /// What a pod's status says is not written again: one write for each thing that there is to say. Of
    /// queued calls some are never made, as later ones replace them; those that are made say what was
    /// wanted if the pod was tried once since and never had a node.
    fn judge_condition(&mut self, at: usize, pod: PodUid, condition: &ConditionChange) {
        let gates = &self.scenario.setup.gates;
        let mut hasher = FxHasher::default();
        match condition {
            ConditionChange::Withdraw => {}
            ConditionChange::False { reason, message, .. } => (reason, message).hash(&mut hasher),
        }
        let says = hasher.finish();
        let record = self.actors[at].record(pod);
        let known = record.said.replace(says);
        let attempts = std::mem::take(&mut record.attempts_since);
        let is_sure = !gates.scheduler_async_api_calls
            || (attempts == 1 && record.chosen.is_none() && !gates.scheduler_pre_enqueue_pod_status);
        if known == Some(says) && is_sure {
            self.fail(Invariant::EffectsOnce, || {
                format!("the status of pod {} is written although it says so already", pod.0)
            });
        }
    }

    fn judge_nomination(&mut self, at: usize, pod: PodUid, nomination: NominatedNodeNamePatch) {
        let record = *self.actors[at].record(pod);
        match nomination {
            NominatedNodeNamePatch::Keep => {}
            NominatedNodeNamePatch::Set(node) => {
                if record.may_name & (1 << node.index()) == 0 {
                    self.fail(Invariant::AllowedWrites, || {
                        format!(
                            "pod {} is nominated to n{} although neither Permit nor PreBind holds it up there, and it \
                             preempts nobody there",
                            pod.0,
                            node.index()
                        )
                    });
                }
            }
            NominatedNodeNamePatch::Clear => {
                let setup = &self.scenario.setup;
                let keeps = setup.gates.nominated_node_name_for_expectation
                    && setup.nominated_node_name_miss == NominatedNodeNameMiss::FallThrough;
                let is_gone = self.actors[at].seen.pods.get(&pod).is_none();
                if keeps && !is_gone && !record.may_clear {
                    self.fail(Invariant::AllowedWrites, || {
                        format!("the nomination of pod {} is cleared; KEP-5278 leaves that to others", pod.0)
                    });
                }
            }
        }
    }

    /// KEP-5229: no `PodScheduled=False` reaches a pod that we have bound. A victim is told why it goes
    /// before it is deleted.
    fn judge_arrival(&mut self, at: usize, call: &ReadyCall) {
        if let Effect::Delete = call.effect {
            self.checks.note(Invariant::AllowedWrites);
            let row = self.truth.pods.get(&call.pod);
            if row.is_some_and(|row| !row.flags.contains(PodFlags::PREEMPTED)) {
                self.fail(Invariant::AllowedWrites, || {
                    format!("pod {} is deleted, and no condition DisruptionTarget says why", call.pod.0)
                });
            }
        }
        let Effect::Patch { condition: Some(ConditionChange::False { .. }), .. } = &call.effect else {
            return;
        };
        self.checks.note(Invariant::AllowedWrites);
        let is_bound = self.truth.pods.get(&call.pod).is_some_and(|row| row.node.is_some());
        let record = *self.actors[at].record(call.pod);
        if is_bound && record.was_bound && !record.is_unsure && !self.foreign.contains(&call.pod) {
            self.fail(Invariant::AllowedWrites, || {
                format!("PodScheduled=False reaches pod {} after its binding", call.pod.0)
            });
        }
    }
}
