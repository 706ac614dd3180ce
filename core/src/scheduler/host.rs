//! Whom the queue asks: the plugins of the pod's profile.

use crate::framework::extension_point::ExtensionPoint;
use crate::ids::PodId;
use crate::mutants::{Mutant, Mutants};
use crate::queue::event::Event;
use crate::queue::{PluginNumber, QueueHost, QueuedPod, SchedulingQueue};
use crate::world::World;

use super::conditions::NO_CONDITION;
use super::preempting::Preempting;
use super::{ConditionReason, ProfileParts, Scheduler};

/// PreEnqueue was asked, and the pod's status may have to say so.
#[derive(Clone, Copy, Debug)]
pub(super) struct GateReport {
    pod: PodId,
    gate: Option<PluginNumber>,
}

/// The plugins, for the time of one call.
pub(super) struct Host<'a> {
    world: &'a World,
    parts: &'a [ProfileParts],
    preempting: &'a Preempting,
    mutants: Mutants,
    /// `None` when nobody wants to know (KEP-5501 is off).
    reports: Option<&'a mut Vec<GateReport>>,
}

impl QueueHost for Host<'_> {
    fn pre_enqueue(&mut self, pod: &QueuedPod, first: Option<PluginNumber>) -> Option<PluginNumber> {
        let profile = &self.parts[usize::from(pod.profile.0)].profile;
        let class = self.world.class(pod.class);
        let holds_back = |at: usize| {
            let plugin = profile.plugins()[at].as_pre_enqueue().expect("a plugin of the PreEnqueue list");
            plugin.pre_enqueue(self.world, class).is_some()
        };
        let list = profile.at(ExtensionPoint::PreEnqueue);
        let first = first.map(|plugin| usize::from(plugin.0)).filter(|at| list.contains(at));
        let others = list.iter().copied();
        let others = others.filter(|&at| Some(at) != first);
        let gate = match self.parts[usize::from(pod.profile.0)].preemption {
            Some(plugin) if self.holds_back_preemptor(pod) => Some(plugin),
            _ => first.into_iter().chain(others).find(|&at| holds_back(at)).map(plugin_number),
        };
        if let Some(reports) = &mut self.reports {
            reports.push(GateReport { pod: pod.pod, gate });
        }
        gate
    }

    fn hint(&mut self, plugin: PluginNumber, pod: &QueuedPod, event: &Event) -> bool {
        if self.mutants.has(Mutant::ForgottenEvent) {
            let profile = &self.parts[usize::from(pod.profile.0)].profile;
            if profile.plugins()[usize::from(plugin.0)].name() == "NodeUnschedulable" {
                return false;
            }
        }
        self.parts[usize::from(pod.profile.0)].hints.hint(self.world, plugin, pod, event)
    }
}

impl Host<'_> {
    fn holds_back_preemptor(&self, pod: &QueuedPod) -> bool {
        self.preempting.holds_back(pod.uid, self.world) && !self.mutants.has(Mutant::SecondPreemption)
    }
}

/// The number of a plugin in its profile's list.
pub(super) fn plugin_number(at: usize) -> PluginNumber {
    PluginNumber(u8::try_from(at).expect("a profile has few plugins"))
}

impl Scheduler {
    /// Lets the queue work with the plugins at hand.
    pub(super) fn with_queue<R>(&mut self, work: impl FnOnce(&mut SchedulingQueue, &mut Host<'_>) -> R) -> R {
        let Scheduler { queue, world, parts, preempting, gate_reports, settings, .. } = self;
        let reports = settings.gates.scheduler_pre_enqueue_pod_status.then_some(gate_reports);
        let mutants = settings.mutants;
        let answer = work(queue, &mut Host { world, parts, preempting, mutants, reports });
        if !self.gate_reports.is_empty() {
            self.tell_of_gates();
        }
        answer
    }

    /// KEP-5501: what holds a pod back is written to its status, once per message. A plugin that
    /// has no message for the user leaves the status as it is.
    fn tell_of_gates(&mut self) {
        let mut reports = std::mem::take(&mut self.gate_reports);
        for GateReport { pod, gate } in reports.drain(..) {
            let row = *self.world.pods().get(pod);
            let said = self.conditions.get(row.condition).map(|(reason, _)| *reason);
            let condition = match gate {
                None if said == Some(ConditionReason::NotReadyForScheduling) => NO_CONDITION,
                None => continue,
                Some(plugin) => {
                    let Some(profile) = self.profile_of(row.class) else { continue };
                    let profile = &self.parts[usize::from(profile.0)].profile;
                    let plugin = profile.plugins()[usize::from(plugin.0)].as_pre_enqueue();
                    let class = self.world.class(row.class);
                    let message = plugin.and_then(|plugin| plugin.status_message(&self.world, class));
                    let Some(message) = message.filter(|message| !message.is_empty()) else { continue };
                    self.conditions.id(ConditionReason::NotReadyForScheduling, &message.into())
                }
            };
            if condition != row.condition {
                self.write_condition(pod, condition);
            }
        }
        self.gate_reports = reports;
    }
}
