//! Controllers of a simulation: what each has been told, what is on its way to it, and the calls it has
//! made. Their watches and calls are late, fail and break as those of schedulers do.
//!
//! A controller is known by a number behind those of the schedulers: [`FIRST_CONTROLLER`] is the first.

use std::collections::BTreeMap;

use schedlab_cluster::api::{ApiError, StatusReason, WatchEvent};
use schedlab_cluster::controllers::{
    ControllerAnswer, ControllerDescriptor, ControllerRequest, ControllerSettings, Remaining,
};
use schedlab_cluster::runtime::virtual_time::{ShardCall, VirtualController};
use schedlab_core::cycle::select::Draws;

use super::actor::Pipe;
use super::evictions::Evictions;
use super::faults::{CallFault, Counted, SimulatedCallKind};
use super::item::Item;
use super::run::Simulation;
use super::scenario::SimulationSetup;
use super::trace::event_text;
use super::truth::Objects;

/// The number of the first controller, where schedulers have theirs.
pub(super) const FIRST_CONTROLLER: u8 = 8;

const SECOND: u64 = 1_000_000_000;
/// After how long a client gives up on an answer.
const CALL_TIMEOUT_NS: u64 = 5 * SECOND;

/// A call between a controller and the API.
pub(super) struct ControllerFlight {
    call: ShardCall,
    fault: Option<CallFault>,
    result: Option<Result<ControllerAnswer, ApiError>>,
}

/// One controller.
pub(super) struct ControllerActor {
    pub(super) number: u8,
    /// Moves with every restart.
    incarnation: u32,
    controller: VirtualController,
    pub(super) pipes: [Pipe; 3],
    pub(super) seen: Objects,
    flights: BTreeMap<u32, ControllerFlight>,
    next_flight: u32,
    wake_ns: Option<u64>,
    /// What a controller that evicts must do; nothing of others.
    pub(super) evictions: Evictions,
}

/// Where a controller is in the list of those of a simulation.
pub(super) fn controller_at(number: u8) -> Option<usize> {
    number.checked_sub(FIRST_CONTROLLER).map(usize::from)
}

impl ControllerActor {
    /// The controller at a place of the setup's list.
    pub(super) fn new(at: usize, incarnation: u32, seed: u64, setup: &SimulationSetup) -> ControllerActor {
        let descriptor = setup.controllers[at];
        let settings =
            ControllerSettings { seed, mutants: setup.controller_mutants, ..ControllerSettings::default() };
        let shards = 1 + (seed % 3) as usize;
        ControllerActor {
            number: FIRST_CONTROLLER + u8::try_from(at).expect("there are few controllers"),
            incarnation,
            controller: VirtualController::new(descriptor, &settings, shards)
                .expect("controllers of a scenario need no configuration"),
            pipes: Default::default(),
            seen: Objects::default(),
            flights: BTreeMap::new(),
            next_flight: 0,
            wake_ns: None,
            evictions: Evictions::default(),
        }
    }

    pub(super) fn descriptor(&self) -> &'static ControllerDescriptor {
        self.controller.descriptor()
    }

    /// Every event has arrived, every call was answered, and nothing is left to do.
    pub(super) fn is_settled(&self) -> bool {
        self.flights.is_empty()
            && self.pipes.iter().all(|pipe| pipe.queue.is_empty() && !pipe.is_broken)
            && self.controller.remaining() == Remaining::Nothing
    }
}

/// The kind of a call, as faults name it.
fn kind_of(request: &ControllerRequest) -> SimulatedCallKind {
    match request {
        ControllerRequest::PatchPodStatus { .. } => SimulatedCallKind::Patch,
        ControllerRequest::DeletePod(_) => SimulatedCallKind::Delete,
        ControllerRequest::BindPod(_) => SimulatedCallKind::Bind,
        _ => SimulatedCallKind::Write,
    }
}

fn answer_of(fault: CallFault) -> Option<ApiError> {
    let error = |reason, message: &str| Some(ApiError { reason, message: message.to_owned() });
    match fault {
        CallFault::Slow => None,
        CallFault::Error => error(StatusReason::InternalError, "a fault of the simulation"),
        CallFault::Conflict => error(StatusReason::Conflict, "a fault of the simulation"),
        CallFault::LostRequest | CallFault::LostAnswer => error(StatusReason::Timeout, "no answer came"),
    }
}

impl Simulation<'_> {
    /// The watch of a scheduler or of a controller.
    pub(super) fn pipe_mut(&mut self, number: u8, stream: usize) -> Option<&mut Pipe> {
        match controller_at(number) {
            Some(at) => self.controllers.get_mut(at).map(|controller| &mut controller.pipes[stream]),
            None => self.actors.get_mut(usize::from(number)).map(|actor| &mut actor.pipes[stream]),
        }
    }

    /// Tells a controller of an event.
    pub(super) fn tell_controller(&mut self, at: usize, event: &WatchEvent) {
        let now_ns = self.now_ns();
        let name = self.controllers[at].descriptor().name;
        self.note(|| format!("{name} sees {}", event_text(event)));
        self.let_time_pass(at);
        let actor = &mut self.controllers[at];
        actor.seen.note(event);
        actor.controller.deliver(event, &self.api, now_ns);
        self.expect_evictions(at);
    }

    fn let_time_pass(&mut self, at: usize) {
        let now_ns = self.now_ns();
        let actor = &mut self.controllers[at];
        actor.controller.advance(&self.api, now_ns);
        actor.evictions.advance(now_ns);
    }

    /// What follows from anything that a controller was told.
    pub(super) fn after_controller(&mut self, at: usize) {
        let now_ns = self.now_ns();
        let mut calls = Vec::new();
        self.controllers[at].controller.take_calls(&self.api, now_ns, &mut calls);
        for call in calls {
            self.judge_controller_call(at, &call.call.request);
            self.send_call(at, call);
        }
        self.check_evictions_are_made(at);
        let actor = &mut self.controllers[at];
        let wake_ns = actor.controller.next_wake_ns().map(|wake_ns| wake_ns.max(now_ns + 1));
        if let Some(wake_ns) = wake_ns.filter(|&it| actor.wake_ns.is_none_or(|known_ns| it < known_ns)) {
            actor.wake_ns = Some(wake_ns);
            let item = Item::Wake { actor: actor.number, incarnation: actor.incarnation };
            self.push(wake_ns, item);
        }
    }

    fn send_call(&mut self, at: usize, call: ShardCall) {
        let name = self.controllers[at].descriptor().name;
        self.note(|| format!("{name} wants {:?}", call.call.request));
        let fault = self.take_fault(kind_of(&call.call.request));
        let actor = &mut self.controllers[at];
        let (number, incarnation, flight) = (actor.number, actor.incarnation, actor.next_flight);
        actor.next_flight += 1;
        actor.flights.insert(flight, ControllerFlight { call, fault, result: None });
        let bits = self.bits(13, u64::from(number), u64::from(flight));
        let mut way_ns = self.scenario.setup.call.draw_ns(&mut Draws::new(bits));
        if fault == Some(CallFault::Slow) {
            way_ns += 2 * SECOND;
        }
        self.log((24, u64::from(number), u64::from(flight)), self.now_ns());
        self.push(self.now_ns() + way_ns, Item::Arrive { actor: number, incarnation, flight });
    }

    pub(super) fn arrive_of_controller(&mut self, at: usize, incarnation: u32, flight: u32) -> bool {
        let actor = &self.controllers[at];
        if actor.incarnation != incarnation {
            return false;
        }
        let number = actor.number;
        let under_way = &actor.flights[&flight];
        let (fault, request) = (under_way.fault, under_way.call.call.request.clone());
        self.note(|| format!("arrives: {request:?} ({fault:?})"));
        let is_done = !matches!(fault, Some(CallFault::Error | CallFault::Conflict | CallFault::LostRequest));
        let mut result = Ok(ControllerAnswer::Done);
        if is_done {
            result = request.perform(&self.api);
            self.publish();
        }
        if let Some(error) = fault.and_then(answer_of) {
            result = Err(error);
        }
        let bits = self.bits(14, u64::from(number), u64::from(flight));
        let way_ns = match fault {
            Some(CallFault::LostRequest | CallFault::LostAnswer) => CALL_TIMEOUT_NS,
            _ => self.scenario.setup.call.draw_ns(&mut Draws::new(bits)),
        };
        self.log((25, u64::from(flight), u64::from(result.is_ok())), self.now_ns());
        let under_way = self.controllers[at].flights.get_mut(&flight).expect("looked up just now");
        under_way.result = Some(result);
        self.push(self.now_ns() + way_ns, Item::Answer { actor: number, incarnation, flight });
        true
    }

    pub(super) fn answer_to_controller(&mut self, at: usize, incarnation: u32, flight: u32) -> bool {
        if self.controllers[at].incarnation != incarnation {
            return false;
        }
        let now_ns = self.now_ns();
        self.let_time_pass(at);
        let actor = &mut self.controllers[at];
        let ControllerFlight { call, result, .. } =
            actor.flights.remove(&flight).expect("a call is answered once");
        let result = result.expect("an answer has a result");
        actor.evictions.note_answer(&call.call.request, &result);
        actor.controller.answer(&call, &result, &self.api, now_ns);
        let name = actor.descriptor().name;
        self.note(|| {
            format!("{name} is answered: {:?}", result.as_ref().map(|_| ()).map_err(|error| error.reason))
        });
        self.after_controller(at);
        true
    }

    pub(super) fn wake_controller(&mut self, at: usize, incarnation: u32) -> bool {
        let now_ns = self.now_ns();
        let actor = &mut self.controllers[at];
        if actor.incarnation != incarnation || actor.wake_ns != Some(now_ns) {
            return false;
        }
        actor.wake_ns = None;
        self.let_time_pass(at);
        self.after_controller(at);
        true
    }

    /// What the old one had under way has reached the API or never will; the new one lists everything.
    pub(super) fn restart_controller(&mut self, at: usize) {
        if at >= self.controllers.len() {
            return;
        }
        self.faults.note(Counted::Restart);
        let actor = &self.controllers[at];
        let on_their_way = actor.flights.iter().filter(|(_, flight)| flight.result.is_none());
        for (number, flight) in on_their_way {
            if self.bits(15, u64::from(*number), self.now_ns()).is_multiple_of(2) {
                // A call that the API refuses changes nothing.
                let _ = flight.call.call.request.perform(&self.api);
            }
        }
        self.publish();
        let (incarnation, number) = (self.controllers[at].incarnation + 1, self.controllers[at].number);
        let epochs = [0, 1, 2].map(|stream: usize| self.controllers[at].pipes[stream].epoch + 1);
        let mut actor = ControllerActor::new(at, incarnation, self.scenario.seed, &self.scenario.setup);
        actor.pipes.iter_mut().zip(epochs).for_each(|(pipe, epoch)| pipe.epoch = epoch);
        debug_assert_eq!(actor.number, number);
        self.controllers[at] = actor;
        let mut events = Vec::new();
        self.truth.list(&mut events);
        self.events += events.len() as u64;
        for event in &events {
            self.tell_controller(at, event);
        }
        self.after_controller(at);
    }
}
