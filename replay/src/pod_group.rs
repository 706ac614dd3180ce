//! A recorded cycle of a pod group against the engine's.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Pod;
use schedlab_core::cycle::engine::{Decision, Engine, Pending};
use schedlab_core::cycle::explain::{Explanation, explain_in_placement};
use schedlab_core::framework::profile::Profile;
use schedlab_core::ids::{NodeId, PodId};
use schedlab_core::input::pod_group::PodGroupCondition;
use schedlab_core::plugins::gang_scheduling;
use schedlab_core::pod_group::{
    CycleObserver, PassResult, PlacementProgress, PodGroupCode, PodGroupDecision, PodGroupInfo,
    PodGroupPreemption, PodGroupScratch, PodGroupStatus, changed_condition,
};
use schedlab_core::snapshot::mask::NodeMask;
use schedlab_core::world::World;

use super::compare::{Comparison, show_list};
use super::error::StepProblem;
use super::pod_group_document::{
    ConditionRecord, PlacementScoreRecord, PodGroupPreemptionRecord, PodGroupRecord, RunPodRecord, RunRecord,
    StatusRecord,
};
use super::report::{DifferenceKind, TraceDifference, TraceReport};
use super::state::{State, pod_key};

/// One `schedulePodGroup` step.
pub(super) struct PodGroupStep<'a> {
    pub(super) at: usize,
    pub(super) group: &'a str,
    pub(super) pods: &'a [Pod],
    pub(super) record: &'a PodGroupRecord,
}

/// What was seen of each member, pass by pass.
#[derive(Default)]
struct Seen {
    passes: Vec<Vec<Explanation>>,
}

impl CycleObserver for Seen {
    fn pass(&mut self, _: &schedlab_core::framework::points::placement::Placement) {
        self.passes.push(Vec::new());
    }

    fn member(&mut self, world: &mut World, profile: &Profile, pending: Pending, within: Option<&NodeMask>) {
        let explanation = explain_in_placement(world, profile, pending, within);
        self.passes.last_mut().expect("a pass has begun").push(explanation);
    }
}

/// Replays the cycle and compares it; the pending members are gone when this returns.
pub(super) fn compare(
    state: &mut State,
    engine: &mut Engine,
    step: &PodGroupStep<'_>,
    report: &mut TraceReport,
) -> Result<(), StepProblem> {
    report.schedule_steps += 1;
    let members = state.add_members(step.pods)?;
    let names: BTreeMap<PodId, String> =
        members.iter().zip(step.pods).map(|(&pod, object)| (pod, pod_key(object))).collect();
    let result = compare_members(state, engine, (step, &names), members, report);
    state.remove_members(step.pods)?;
    result
}

fn compare_members(
    state: &mut State,
    engine: &mut Engine,
    (step, names): (&PodGroupStep<'_>, &BTreeMap<PodId, String>),
    members: Vec<PodId>,
    report: &mut TraceReport,
) -> Result<(), StepProblem> {
    let mut checks = Checks { step, report };
    let held = state.evaluation().pre_enqueue(members[0]);
    let held = held.map(|(plugin, held)| StatusRecord {
        plugin: Some(plugin.to_owned()),
        code: "UnschedulableAndUnresolvable".to_owned(),
        reasons: vec![held.reason],
    });
    checks.part("preEnqueue", step.record.pre_enqueue.as_ref(), held.as_ref());
    if held.is_some() || step.record.pre_enqueue.is_some() {
        return Ok(());
    }
    let (id, object) = state.pod_group(step.group)?;
    let info = PodGroupInfo { id, object, members };
    let gates = state.gates();
    let invalid = state.evaluation().validate_pod_group(&info, gates).err();
    checks.part("error", step.record.error.as_ref(), invalid.as_ref());
    if invalid.is_some() || step.record.error.is_some() {
        let status = PodGroupStatus::failed(invalid.unwrap_or_default());
        checks.condition(&info, &status);
        return Ok(());
    }
    // Nothing is carried over from one recorded decision to the next.
    engine.set_next_start(0);
    let (mut seen, mut scratch) = (Seen::default(), PodGroupScratch::default());
    let mut evaluation = state.evaluation();
    let mut cycle = evaluation.pod_group_cycle(engine, &info, gates, &mut scratch);
    let decision = cycle.run(&mut seen);
    let is_preempting = decision.status.code == PodGroupCode::Unschedulable;
    let preemption = is_preempting.then(|| cycle.post_filter(&decision, true).preemption);
    let evaluation = state.evaluation();
    checks.passes(evaluation.world(), evaluation.profile(), names, &decision, &seen);
    checks.outcome(&decision, names, evaluation.world());
    checks.preemption(state, names, preemption.as_ref());
    let status = match &preemption {
        Some(preemption) => decision.status.clone().after_preemption(preemption),
        None => decision.status.clone(),
    };
    checks.condition(&info, &status);
    Ok(())
}

/// Where differences of a step go.
struct Checks<'a> {
    step: &'a PodGroupStep<'a>,
    report: &'a mut TraceReport,
}

impl Checks<'_> {
    fn check(&mut self, field: &'static str, recorded: String, ours: String) {
        self.report.comparisons += 1;
        if recorded != ours {
            self.report.add(TraceDifference {
                step: self.step.at,
                pod: self.step.group.to_owned(),
                what: DifferenceKind::PodGroup { field },
                recorded,
                ours,
            });
        }
    }

    fn part<T: std::fmt::Debug>(&mut self, field: &'static str, recorded: Option<&T>, ours: Option<&T>) {
        self.check(field, format!("{recorded:?}"), format!("{ours:?}"));
    }

    /// Every member of every pass, and the checks around it.
    fn passes(
        &mut self,
        world: &World,
        profile: &Profile,
        names: &BTreeMap<PodId, String>,
        ours: &PodGroupDecision,
        seen: &Seen,
    ) {
        let recorded = &self.step.record.runs;
        let name = |run: &RunRecord| run.placement.clone().unwrap_or_default();
        let recorded_names: Vec<String> = recorded.iter().map(name).collect();
        let our_names: Vec<String> = ours.passes.iter().map(|pass| pass.placement.name.to_string()).collect();
        self.check("runs", show_list(&recorded_names), show_list(&our_names));
        if recorded_names != our_names {
            return;
        }
        for ((recorded, ours), explanations) in recorded.iter().zip(&ours.passes).zip(&seen.passes) {
            self.pass(world, profile, names, (recorded, ours, explanations));
        }
    }

    fn pass(
        &mut self,
        world: &World,
        profile: &Profile,
        names: &BTreeMap<PodId, String>,
        (recorded, ours, explanations): (&RunRecord, &PassResult, &[Explanation]),
    ) {
        let nodes = ours.placement.nodes.as_deref();
        let row_name = |row: usize| world.node_name(world.nodes().columns().id[row]).to_owned();
        let inside = nodes.map(|nodes| nodes.rows().map(row_name).collect::<Vec<_>>());
        self.part("runs.nodes", recorded.nodes.as_ref(), inside.as_ref());
        self.progress("runs.start", &recorded.start, ours.start);
        let is_feasible =
            ours.members.last().map_or(ours.start, |last| last.progress).code() == PodGroupCode::Success;
        self.check("runs.feasible", recorded.feasible.to_string(), is_feasible.to_string());
        let recorded_pods: Vec<&str> = recorded.pods.iter().map(|it| it.pod.as_str()).collect();
        let our_pods: Vec<&str> = ours.members.iter().map(|it| names[&it.pod].as_str()).collect();
        self.check("runs.pods", show_list(&recorded_pods), show_list(&our_pods));
        let members = ours.members.iter().zip(explanations);
        for (RunPodRecord { pod, result, group }, (member, explanation)) in recorded.pods.iter().zip(members)
        {
            let report = &mut *self.report;
            let mut comparison = Comparison {
                world,
                profile,
                record: result,
                step: self.step.at,
                pod,
                placement: nodes,
                report,
            };
            comparison.explanation(explanation);
            comparison.decision(&member.decision);
            comparison.no_volumes();
            self.progress("runs.pods.group", group, member.progress);
        }
    }

    fn progress(&mut self, field: &'static str, recorded: &StatusRecord, ours: PlacementProgress) {
        let status = ours.status();
        let plugin = (!status.is_success()).then(|| gang_scheduling::NAME.to_owned());
        let ours = StatusRecord { plugin, ..record_of(&status) };
        self.part(field, Some(recorded), Some(&ours));
    }

    /// Status, chosen placement and its scores, who is placed and who is not, and why.
    fn outcome(&mut self, ours: &PodGroupDecision, names: &BTreeMap<PodId, String>, world: &World) {
        let record = self.step.record;
        let status = record_of(&ours.status);
        self.part("status", record.status.as_ref(), Some(&status));
        let scores: Vec<PlacementScoreRecord> = ours
            .scores
            .iter()
            .map(|score| PlacementScoreRecord {
                placement: score.placement.to_string(),
                scores: score.scores.iter().map(|&(plugin, score)| (plugin.to_owned(), score)).collect(),
                total: score.total,
            })
            .collect();
        self.part("placementScores", Some(&record.placement_scores), Some(&scores));
        let is_placed = ours.status.is_success();
        let chosen = ours.taken_pass().filter(|_| is_placed).map(|pass| pass.placement.name.to_string());
        let chosen = chosen.filter(|name| !name.is_empty());
        self.part("chosenPlacement", record.chosen_placement.as_ref(), chosen.as_ref());
        let row_name = |row: usize| world.node_name(world.nodes().columns().id[row]).to_owned();
        let members = ours.members().iter().filter(|_| is_placed);
        let placed: BTreeMap<String, String> =
            members.filter_map(|it| Some((names[&it.pod].clone(), row_name(it.row()?)))).collect();
        self.part("placed", Some(&record.placed), Some(&placed));
        let rejected: BTreeSet<&String> = names.values().filter(|name| !placed.contains_key(*name)).collect();
        self.part("rejected", Some(&record.rejected.keys().collect()), Some(&rejected));
        for member in ours.members() {
            let recorded = record.rejected.get(&names[&member.pod]);
            if let (Decision::Unschedulable(diagnosis), Some(recorded)) = (&member.decision, recorded) {
                let message = diagnosis.message(&world.vocabulary);
                self.check("rejected message", sorted_reasons(recorded), sorted_reasons(&message));
            }
        }
    }

    fn preemption(
        &mut self,
        state: &State,
        names: &BTreeMap<PodId, String>,
        ours: Option<&PodGroupPreemption>,
    ) {
        let recorded = &self.step.record.preemption;
        let world = state.world();
        let victim =
            |&pod: &PodId| state.bound_name(world.pods().get(pod).uid).unwrap_or("nobody").to_owned();
        let nominated = |&(pod, node): &(PodId, Option<NodeId>)| {
            Some((names[&pod].clone(), world.node_name(node?).to_owned()))
        };
        let ours = ours.map(|ours| {
            let mut victims: Vec<String> = ours.victims.iter().map(victim).collect();
            victims.sort_unstable();
            PodGroupPreemptionRecord {
                code: ours.status.code.name().to_owned(),
                reasons: ours.status.all_reasons().map(str::to_owned).collect(),
                victims,
                nominated: ours.nominated.iter().filter_map(nominated).collect(),
            }
        });
        self.part("preemption", recorded.as_ref(), ours.as_ref());
    }

    /// The condition afterwards: the new one, or the old one if there is no news.
    fn condition(&mut self, info: &PodGroupInfo, status: &PodGroupStatus) {
        let new = changed_condition(&info.object, status).or_else(|| info.object.initially_scheduled.clone());
        let ours =
            new.map(|PodGroupCondition { is_true, reason, message, observed_generation }| ConditionRecord {
                type_: "PodGroupInitiallyScheduled".to_owned(),
                status: if is_true { "True" } else { "False" }.to_owned(),
                reason,
                message,
                observed_generation,
            });
        self.part("condition", self.step.record.condition.as_ref(), ours.as_ref());
    }
}

fn record_of(status: &PodGroupStatus) -> StatusRecord {
    StatusRecord {
        plugin: None,
        code: status.code.name().to_owned(),
        reasons: status.all_reasons().map(str::to_owned).collect(),
    }
}

/// A pod's message with its reasons in order: upstream sorts them with their counts, the record by text.
fn sorted_reasons(message: &str) -> String {
    let Some((head, reasons)) = message.split_once(": ") else { return message.to_owned() };
    let mut reasons: Vec<&str> = reasons.trim_end_matches('.').split(", ").collect();
    reasons.sort_unstable();
    format!("{head}: {}.", reasons.join(", "))
}
