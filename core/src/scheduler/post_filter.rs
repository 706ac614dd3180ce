//! PostFilter: plugins are asked to make room. The engine's own is preemption: victims are evicted
//! (see [`super::prepare_candidate`]), the pod is nominated to their node.

use std::sync::Arc;

use super::timing::{Timed, verdict_label};
use super::{ApiCall, PodEventNote, PodEventReason, Scheduler, StatusPatch};
use crate::cycle::engine::Pending;
use crate::framework::diagnosis::Diagnosis;
use crate::framework::extension_point::ExtensionPoint;
use crate::framework::points::{
    Failed, Handle, NodeCodes, NominatingInfo, PodRef, PostFilter, PostFilterVerdict,
};
use crate::framework::status::Code;
use crate::ids::{PodId, PodUid};
use crate::input::PreemptionPolicy;
use crate::mutants::Mutant;
use crate::pods::PodState;
use crate::preemption::{Preemption, PreemptionArgs, get_lower_priority_nominated_pods, nobody_to_evict};
use crate::queue::ProfileNumber;
use crate::snapshot::mask::NodeMask;

/// What PostFilter came to.
#[derive(Clone, Debug)]
pub(super) struct PostFiltered {
    /// What becomes of the pod's nomination.
    pub nomination: NominatingInfo,
    /// What the condition says of it.
    pub words: PostFilterWords,
}

/// That PostFilter plugins were asked, and how that ended.
struct Asked {
    verdict: PostFilterVerdict,
    /// There is one plugin only, and its time is that of all.
    only: Option<&'static str>,
}

/// What is added to the message of a pod's condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PostFilterWords {
    /// Nothing: nobody was asked.
    None,
    /// No pod of the cluster has a lower priority; the rest follows from the diagnosis.
    NobodyToEvict,
    /// This.
    Text(String),
}

/// What a failed search said of each row.
#[derive(Debug)]
struct Helpable(NodeMask);

impl NodeCodes for Helpable {
    fn code(&self, row: usize) -> Code {
        if self.0.contains(row) { Code::Unschedulable } else { Code::UnschedulableAndUnresolvable }
    }
}

impl Scheduler {
    /// [`Scheduler::run_post_filter_plugins`], with a look at the clock before and after.
    pub(super) fn timed_run_post_filter_plugins(
        &mut self,
        pod: PodId,
        profile: ProfileNumber,
        diagnosis: &Diagnosis,
    ) -> PostFiltered {
        let start_ns = self.timing.start_post_filter();
        let (asked, outcome) = self.run_post_filter_plugins(pod, profile, diagnosis);
        let end_ns = start_ns.and_then(|_| self.timing.now_ns());
        if let (Some(asked), Some(start_ns), Some(end_ns)) = (asked, start_ns, end_ns) {
            let (point, status) = (ExtensionPoint::PostFilter.label(), verdict_label(asked.verdict));
            let elapsed_ns = end_ns.saturating_sub(start_ns);
            self.timing.note(Timed::Point { point, status, profile }, elapsed_ns);
            if let Some(plugin) = asked.only {
                self.timing.note(Timed::Plugin { plugin, point, status }, elapsed_ns);
            }
        }
        outcome
    }

    /// Asks the profile's PostFilter plugins, one after the other, until one has helped or says that
    /// nothing can.
    ///
    /// Upstream: framework/runtime/framework.go `RunPostFilterPlugins`. Without plugins the pod loses
    /// its nomination.
    fn run_post_filter_plugins(
        &mut self,
        pod: PodId,
        profile: ProfileNumber,
        diagnosis: &Diagnosis,
    ) -> (Option<Asked>, PostFiltered) {
        let plugins = &self.parts[usize::from(profile.0)].profile;
        match plugins.at(ExtensionPoint::PostFilter) {
            [] => (None, PostFiltered { nomination: NominatingInfo::Clear, words: PostFilterWords::None }),
            &[only] if let Some(args) = plugins.plugins()[only].preemption() => {
                let name = plugins.name(only);
                let (verdict, outcome) = self.preempt(pod, profile, (args, diagnosis));
                (Some(Asked { verdict, only: Some(name) }), outcome)
            }
            several => {
                let several = several.to_vec();
                let (verdict, outcome) =
                    self.run_out_of_tree_post_filter_plugins(pod, profile, (&several, diagnosis));
                (Some(Asked { verdict, only: None }), outcome)
            }
        }
    }

    /// As `post_filter`, with plugins that are not the engine's own.
    #[cold]
    fn run_out_of_tree_post_filter_plugins(
        &mut self,
        pod: PodId,
        profile: ProfileNumber,
        (plugins, diagnosis): (&[usize], &Diagnosis),
    ) -> (PostFilterVerdict, PostFiltered) {
        let mut nomination = NominatingInfo::Keep;
        let mut texts: Vec<String> = Vec::new();
        for &at in plugins {
            let start_ns = self.timing.start_post_filter();
            let (verdict, outcome) = self.ask_post_filter(pod, profile, (at, diagnosis));
            let plugin = self.parts[usize::from(profile.0)].profile.name(at);
            let (point, status) = (ExtensionPoint::PostFilter.label(), verdict_label(verdict));
            self.timing.end(start_ns, Timed::Plugin { plugin, point, status });
            let text = match outcome.words {
                PostFilterWords::None => None,
                PostFilterWords::NobodyToEvict => Some(nobody_to_evict(diagnosis)),
                PostFilterWords::Text(text) => Some(text),
            };
            if verdict != PostFilterVerdict::Unschedulable {
                let words = text.map_or(PostFilterWords::None, PostFilterWords::Text);
                return (verdict, PostFiltered { nomination: outcome.nomination, words });
            }
            if outcome.nomination != NominatingInfo::Keep {
                nomination = outcome.nomination;
            }
            texts.extend(text);
        }
        let words =
            if texts.is_empty() { PostFilterWords::None } else { PostFilterWords::Text(texts.join(", ")) };
        (PostFilterVerdict::Unschedulable, PostFiltered { nomination, words })
    }

    fn ask_post_filter(
        &mut self,
        pod: PodId,
        profile: ProfileNumber,
        (at, diagnosis): (usize, &Diagnosis),
    ) -> (PostFilterVerdict, PostFiltered) {
        let plugin = Arc::clone(&self.parts[usize::from(profile.0)].profile.plugins()[at]);
        if let Some(args) = plugin.preemption() {
            return self.preempt(pod, profile, (args, diagnosis));
        }
        let own = plugin.as_post_filter().expect("a plugin of the PostFilter list");
        let Scheduler { world, engine, parts, binding_cycles, requests, now_ns, .. } = self;
        let row = world.pods().get(pod);
        let pending = Pending { class: row.class, pod: Some(row.uid), nominated: row.nominated() };
        let profile = &parts[usize::from(profile.0)].profile;
        let codes = Helpable(engine.helpable(world, profile, pending, diagnosis));
        let mut handle = Handle::new(world, *now_ns, binding_cycles.waiting_pods(), requests);
        let failed = Failed { profile, diagnosis, codes: &codes };
        let PostFilter { verdict, nomination, message, calls } =
            own.post_filter(&mut handle, PodRef::of(world, pod), &failed);
        let text = message.map(|reason| reason.text(&world.vocabulary).into_owned());
        let words = text.filter(|text| !text.is_empty()).map_or(PostFilterWords::None, PostFilterWords::Text);
        // An error says nothing of nominations.
        let nomination = if verdict == PostFilterVerdict::Error { NominatingInfo::Keep } else { nomination };
        for call in calls {
            self.add_api_call(call);
        }
        (verdict, PostFiltered { nomination, words })
    }

    fn preempt(
        &mut self,
        pod: PodId,
        profile: ProfileNumber,
        (args, diagnosis): (PreemptionArgs, &Diagnosis),
    ) -> (PostFilterVerdict, PostFiltered) {
        let mutants = self.settings.mutants;
        self.counters.preemption_attempts += 1;
        let Scheduler { world, engine, parts, missed, .. } = self;
        let row = world.pods().get(pod);
        let class = world.class(row.class);
        if class.input.preemption == PreemptionPolicy::Never {
            let words = PostFilterWords::Text(Preemption::never().message(world, None));
            return (
                PostFilterVerdict::Unschedulable,
                PostFiltered { nomination: NominatingInfo::Keep, words },
            );
        }
        if world.lowest_priority().is_none_or(|lowest| lowest >= class.priority) {
            // Nobody could be evicted, on whatever node.
            let words = PostFilterWords::NobodyToEvict;
            return (
                PostFilterVerdict::Unschedulable,
                PostFiltered { nomination: NominatingInfo::Clear, words },
            );
        }
        let preemptor = row.uid;
        let pending = Pending { class: row.class, pod: Some(preemptor), nominated: row.nominated() };
        let profile = &parts[usize::from(profile.0)].profile;
        let found = engine.preempt(world, profile, pending, (args, diagnosis));
        let missed = missed.get(&preemptor).filter(|_| !mutants.has(Mutant::MissMovesNomination));
        let again = missed.and_then(|&node| found.chosen_again(world, node));
        let taken = again.or_else(|| engine.take_candidate(&found));
        let words = PostFilterWords::Text(found.message(world, taken));
        let Some(candidate) = taken else {
            // Victims of an earlier preemption are on their way out, it may not preempt at all, or an
            // extender has other plans: the nomination stays. Otherwise nothing helps.
            let is_kept = found.ineligible.is_some() || found.has_failed() || found.is_vetoed;
            let nomination = if is_kept { NominatingInfo::Keep } else { NominatingInfo::Clear };
            let verdict = match found.has_failed() {
                true => PostFilterVerdict::Error,
                false => PostFilterVerdict::Unschedulable,
            };
            return (verdict, PostFiltered { nomination, words });
        };
        let node = world.nodes().columns().id[candidate.row];
        debug_assert!(!candidate.victims.is_empty(), "a candidate has victims");
        self.counters.preemption_victims.observe(candidate.victims.len() as u64);
        let cleared = get_lower_priority_nominated_pods(world, pending, candidate.row);
        for &victim in &candidate.victims {
            let uid = self.world.pods().get(victim).uid;
            let note = PodEventNote::PreemptedBy { preemptor, node };
            self.note_problem(uid, PodEventReason::Preempted, note);
        }
        self.prepare_candidate(preemptor, &candidate.victims);
        for uid in cleared.into_iter().filter(|_| !mutants.has(Mutant::NominationNeverCleared)) {
            self.clear_nominated_node_name(uid);
        }
        (PostFilterVerdict::Success, PostFiltered { nomination: NominatingInfo::Node(node), words })
    }

    /// A pod of lower priority may no longer fit on the node it is nominated to.
    fn clear_nominated_node_name(&mut self, uid: PodUid) {
        let Some(pod) = self.world.pods().find(uid) else { return };
        if self.world.pods().get(pod).state == PodState::Foreign {
            // It holds no room against a higher priority, and what its status says is its scheduler's.
            return;
        }
        let held = self.world.pods().get(pod).nominated();
        self.update_nominated_pod(pod, None);
        let patch = StatusPatch { pod: uid, condition: None, nomination: NominatingInfo::Clear };
        self.add_api_call(ApiCall::PatchStatus(patch));
        self.requeue_pods_after_unwritten_nomination(pod, held);
    }
}
