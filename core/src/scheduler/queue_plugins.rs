//! The PreEnqueue plugins and queueing hints of the pod's profile, as the queue calls them.

use std::sync::Arc;

use crate::framework::extension_point::ExtensionPoint;
use crate::framework::plugin::PreEnqueueResult;
use crate::framework::points::PodRef;
use crate::ids::{PodGroupId, PodId};
use crate::mutants::{Mutant, Mutants};
use crate::plugins::gang_scheduling;
use crate::queue::event::Event;
use crate::queue::pod_group_queue::PodGroupQueue;
use crate::queue::{PluginNumber, QueuePlugins, QueuedPod, SchedulingQueue};
use crate::world::World;

use super::conditions::{NO_CONDITION, UNSURE};
use super::pod_group_queueing::uid_of_group;
use super::preemption_executor::PreemptionExecutor;
use super::timing::{Timed, Timing, label};
use super::{ConditionReason, PodEvent, PodEventNote, PodEventReason, ProfileParts, Scheduler};

/// PreEnqueue was asked, and the pod's status may have to say so.
#[derive(Clone, Debug)]
pub(super) struct PreEnqueueReport {
    pod: PodId,
    verdict: PreEnqueueOutcome,
}

#[derive(Clone, Debug)]
enum PreEnqueueOutcome {
    /// All plugins let the pod pass.
    Passed,
    /// One holds it back and has nothing to say to the pod's owner.
    WithoutMessage,
    /// One holds it back and says why.
    WithMessage(Arc<str>),
}

/// What became of rejections before the queue (KEP-5501).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PreEnqueueStatusCounts {
    /// Written to the pod's status.
    pub written: u64,
    /// Not written, because the status says so already.
    pub repeated: u64,
    /// Not written, because the plugin has no message.
    pub silent: u64,
    /// Removed from the status: the pod has passed.
    pub withdrawn: u64,
}

/// The plugins, for the time of one call.
pub(super) struct ProfilePlugins<'a> {
    world: &'a World,
    parts: &'a [ProfileParts],
    preemption_executor: &'a PreemptionExecutor,
    groups: &'a PodGroupQueue,
    mutants: Mutants,
    /// `None` when nobody wants to know (KEP-5501 is off).
    reports: Option<&'a mut Vec<PreEnqueueReport>>,
    timing: &'a mut Timing,
}

impl QueuePlugins for ProfilePlugins<'_> {
    fn run_pre_enqueue_plugins(
        &mut self,
        pod: &QueuedPod,
        first: Option<PluginNumber>,
    ) -> Option<PluginNumber> {
        match self.world.pod_groups().of_pod(pod.pod) {
            None => self.run_pre_enqueue_plugins_for_pod(pod, first),
            Some(group) => self.run_pre_enqueue_plugins_for_group(group, pod, first),
        }
    }

    fn queueing_hint(&mut self, plugin: PluginNumber, pod: &QueuedPod, event: &Event) -> bool {
        let start_ns = self.timing.start_call();
        let helps = self.ask_hint(plugin, pod, event);
        if start_ns.is_some() {
            let profile = &self.parts[usize::from(pod.profile.0)].profile;
            // Extenders have a number beyond all plugins.
            let known = profile.plugins().get(usize::from(plugin.0));
            let plugin = known.map_or(crate::framework::extend::EXTENDER_NAME, |plugin| plugin.name());
            let hint = if helps { label::QUEUE } else { label::QUEUE_SKIP };
            self.timing.end(start_ns, Timed::Hint { plugin, event: event.what, hint });
        }
        helps
    }
}

impl ProfilePlugins<'_> {
    /// Whether a pod by itself passes PreEnqueue.
    pub(super) fn passes(&mut self, pod: &QueuedPod) -> bool {
        self.run_pre_enqueue_plugins_for_pod(pod, None).is_none()
    }

    fn run_pre_enqueue_plugins_for_pod(
        &mut self,
        pod: &QueuedPod,
        first: Option<PluginNumber>,
    ) -> Option<PluginNumber> {
        let start_ns = self.timing.start_call();
        let gate = self.ask_pre_enqueue(pod, first);
        // Upstream's label says Success also of a pod that is held back: scheduling_queue.go
        // `runPreEnqueuePluginsForPod` looks at a status that its loop shadows.
        let (point, status) = (ExtensionPoint::PreEnqueue.label(), label::SUCCESS);
        self.timing.end(start_ns, Timed::Point { point, status, profile: pod.profile });
        gate
    }

    /// A group is held back as long as one of its members is; by the plugin that holds the last of them.
    /// What GangScheduling says of one member it says of all.
    fn run_pre_enqueue_plugins_for_group(
        &mut self,
        group: PodGroupId,
        leader: &QueuedPod,
        first: Option<PluginNumber>,
    ) -> Option<PluginNumber> {
        let groups = self.groups;
        let Some(queued) = groups.get(group) else {
            return self.run_pre_enqueue_plugins_for_pod(leader, first);
        };
        let profile = &self.parts[usize::from(leader.profile.0)].profile;
        let speaks_of_all = |plugin: PluginNumber| {
            profile.plugins().get(usize::from(plugin.0)).is_some_and(|it| it.name() == gang_scheduling::NAME)
        };
        let mut gate = None;
        for member in queued.members() {
            let class = self.world.pods().get(member.pod).class;
            let pod = QueuedPod { pod: member.pod, uid: member.uid, class, ..*leader };
            let held = self.run_pre_enqueue_plugins_for_pod(&pod, first);
            gate = held.or(gate);
            if held.is_some_and(speaks_of_all) {
                break;
            }
        }
        gate
    }

    fn ask_pre_enqueue(&mut self, pod: &QueuedPod, first: Option<PluginNumber>) -> Option<PluginNumber> {
        let profile = &self.parts[usize::from(pod.profile.0)].profile;
        let asked =
            PodRef { uid: pod.uid, id: pod.pod, class_id: pod.class, class: self.world.class(pod.class) };
        let holds_back = |at: usize| {
            let plugin = profile.plugins()[at].as_pre_enqueue().expect("a plugin of the PreEnqueue list");
            plugin.pre_enqueue_pod(self.world, asked).map(|held| (plugin_number(at), held))
        };
        let list = profile.at(ExtensionPoint::PreEnqueue);
        let first = first.map(|plugin| usize::from(plugin.0)).filter(|at| list.contains(at));
        let others = list.iter().copied();
        let others = others.filter(|&at| Some(at) != first);
        let held = match self.parts[usize::from(pod.profile.0)].preemption {
            // It is over soon, and what the failed attempt said is more to the point.
            Some(plugin) if self.is_pod_running_preemption(pod) => {
                Some((plugin, PreEnqueueResult::rejected_without_message(String::new())))
            }
            _ => first.into_iter().chain(others).find_map(holds_back),
        };
        let gate = held.as_ref().map(|(plugin, _)| *plugin);
        if let Some(reports) = &mut self.reports {
            let verdict = match held {
                // Nothing was ever said about a plain pod: there is nothing to take back.
                None if self.world.pods().get(pod.pod).condition == NO_CONDITION => return None,
                None => PreEnqueueOutcome::Passed,
                Some((_, held)) => match held.message.filter(|message| !message.is_empty()) {
                    Some(message) => PreEnqueueOutcome::WithMessage(message),
                    None => PreEnqueueOutcome::WithoutMessage,
                },
            };
            reports.push(PreEnqueueReport { pod: pod.pod, verdict });
        }
        gate
    }

    fn ask_hint(&self, plugin: PluginNumber, pod: &QueuedPod, event: &Event) -> bool {
        if self.mutants.has(Mutant::ForgottenEvent) {
            let profile = &self.parts[usize::from(pod.profile.0)].profile;
            if profile.plugins()[usize::from(plugin.0)].name() == "NodeUnschedulable" {
                return false;
            }
        }
        self.parts[usize::from(pod.profile.0)].hints.hint(self.world, plugin, pod, event)
    }

    fn is_pod_running_preemption(&self, pod: &QueuedPod) -> bool {
        let group = self.world.pod_groups().of_pod(pod.pod);
        let preemptor = group.map_or(pod.uid, uid_of_group);
        self.preemption_executor.is_pod_running_preemption(preemptor, self.world)
            && !self.mutants.has(Mutant::SecondPreemption)
    }
}

/// The number of a plugin in its profile's list.
pub(super) fn plugin_number(at: usize) -> PluginNumber {
    PluginNumber(u8::try_from(at).expect("a profile has few plugins"))
}

impl Scheduler {
    /// Lets the queue work with the plugins at hand.
    pub(super) fn with_queue<R>(
        &mut self,
        work: impl FnOnce(&mut SchedulingQueue, &mut ProfilePlugins<'_>) -> R,
    ) -> R {
        let Scheduler {
            queue,
            world,
            parts,
            preemption_executor,
            pod_group_queue: groups,
            pre_enqueue_reports,
            settings,
            timing,
            ..
        } = self;
        let reports = settings.gates.scheduler_pre_enqueue_pod_status.then_some(pre_enqueue_reports);
        let mutants = settings.mutants;
        let answer = work(
            queue,
            &mut ProfilePlugins { world, parts, preemption_executor, groups, mutants, reports, timing },
        );
        if !self.pre_enqueue_reports.is_empty() {
            self.report_pre_enqueue_results();
        }
        answer
    }

    /// KEP-5501: what holds a pod back is written to its status and told by an event, once per
    /// message, and removed when the pod passes. A plugin that has no message for the user leaves the
    /// status as it is, also one that another plugin wrote.
    fn report_pre_enqueue_results(&mut self) {
        let mut reports = std::mem::take(&mut self.pre_enqueue_reports);
        for PreEnqueueReport { pod, verdict } in reports.drain(..) {
            let row = *self.world.pods().get(pod);
            match verdict {
                PreEnqueueOutcome::WithoutMessage => self.pre_enqueue_status_counts.silent += 1,
                PreEnqueueOutcome::Passed => {
                    let said = self.conditions.get(row.condition).map(|(reason, _)| *reason);
                    if said == Some(ConditionReason::NotReadyForScheduling) || row.condition == UNSURE {
                        self.pre_enqueue_status_counts.withdrawn += 1;
                        self.write_condition(pod, NO_CONDITION);
                    }
                }
                PreEnqueueOutcome::WithMessage(message) => {
                    let condition = self.conditions.id(ConditionReason::NotReadyForScheduling, &message);
                    if condition == row.condition {
                        self.pre_enqueue_status_counts.repeated += 1;
                        continue;
                    }
                    self.pre_enqueue_status_counts.written += 1;
                    self.write_condition(pod, condition);
                    // The words that all pods with this message share: the plugin made these for one.
                    let shared = self.conditions.get(condition).map_or(message, |(_, said)| Arc::clone(said));
                    self.pod_events.push(PodEvent {
                        pod: row.uid,
                        reason: PodEventReason::NotReadyForScheduling,
                        note: PodEventNote::Text(shared),
                    });
                }
            }
        }
        self.pre_enqueue_reports = reports;
    }
}
