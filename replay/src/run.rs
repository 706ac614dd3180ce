//! Steps through a trace: compare what was decided, then apply what was recorded.

use k8s_openapi::api::core::v1::Pod;
use schedlab_core::cycle::engine::{ClassCache, Engine, EngineSettings};
use schedlab_core::cycle::select::TieBreak;

use super::compare::Comparison;
use super::document::{ScheduleRecord, Trace, TraceStep};
use super::error::{ReplayError, StepProblem};
use super::pod_group::{self, PodGroupStep};
use super::preempt::preempt;
use super::report::TraceReport;
use super::state::{State, pod_key};

/// Replays a trace.
pub fn replay(trace: &Trace) -> Result<TraceReport, ReplayError> {
    let mut state =
        State::new(trace).map_err(|problem| ReplayError::Cluster { path: trace.path.clone(), problem })?;
    // One engine for the whole trace, so that its class cache lives through every change.
    let settings = EngineSettings {
        class_cache: ClassCache::On,
        tie_break: TieBreak::First,
        ..EngineSettings::default()
    };
    let mut engine = Engine::new(settings);
    let mut report = TraceReport {
        name: short_name(&trace.path).to_owned(),
        family: trace.family.clone(),
        seed: trace.seed,
        ..TraceReport::default()
    };
    for (at, step) in trace.steps.iter().enumerate() {
        match step {
            TraceStep::Schedule { pod, record } => {
                compare(&mut state, &mut engine, (at, pod, record), &mut report)
            }
            TraceStep::SchedulePodGroup { pod_group: group, pods, record } => {
                let step = PodGroupStep { at, group, pods, record };
                pod_group::compare(&mut state, &mut engine, &step, &mut report)
            }
            _ => Ok(()),
        }
        .and_then(|()| apply(&mut state, step))
        .map_err(|problem| ReplayError::Step { path: trace.path.clone(), step: at, problem })?;
        report.steps += 1;
    }
    Ok(report)
}

/// `images-12` of `traces/images-12.json.gz`.
fn short_name(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    let file = file.strip_suffix(".gz").unwrap_or(file);
    file.strip_suffix(".json").unwrap_or(file)
}

fn compare(
    state: &mut State,
    engine: &mut Engine,
    (step, pod, record): (usize, &Pod, &ScheduleRecord),
    report: &mut TraceReport,
) -> Result<(), StepProblem> {
    let pending = state.pending(pod)?;
    let mut evaluation = state.evaluation();
    let explanation = evaluation.explain(pending);
    // Nothing is carried over from one recorded decision to the next.
    engine.set_next_start(0);
    let decision = evaluation.schedule_pod(engine, pending);
    report.schedule_steps += 1;
    let preempted = record.preemption.is_some().then(|| preempt(state, engine, pending));
    let evaluation = state.evaluation();
    let (world, profile) = (evaluation.world(), evaluation.profile());
    let mut comparison =
        Comparison { world, profile, record, step, pod: &pod_key(pod), placement: None, report };
    comparison.explanation(&explanation);
    comparison.decision(&decision);
    if let Some(preempted) = &preempted {
        comparison.preemption(preempted);
    }
    comparison.volumes(pending.class);
    comparison.claims(pending.class)?;
    comparison.pre_enqueue(pending.class);
    comparison.post_filter(pending.class);
    comparison.devices(pending.class);
    Ok(())
}

/// Applies what upstream did, whatever we would have done.
fn apply(state: &mut State, step: &TraceStep) -> Result<(), StepProblem> {
    match step {
        TraceStep::Schedule { pod, record } => match (&record.chosen, &record.preemption) {
            (Some(node), _) => state.place(pod, node),
            (None, Some(preemption)) => state.preempt(pod, &preemption.applied),
            (None, None) => Ok(()),
        },
        TraceStep::DeletePod { pod } => state.delete_pod(pod),
        TraceStep::UpdatePod { pod } => state.update_pod(pod),
        TraceStep::AddNode { node } => state.add_node(node),
        TraceStep::UpdateNode { node } => state.update_node(node),
        TraceStep::RemoveNode { node, pods_removed, nominations_cleared } => {
            state.remove_node(node, pods_removed, nominations_cleared)
        }
        TraceStep::Nominate { pod } => state.nominate(pod),
        TraceStep::ClearNomination { pod } => state.clear_nomination(pod),
        TraceStep::SchedulePodGroup { pods, record, .. } => state.apply_pod_group(pods, record),
        TraceStep::ApplyObjects { objects } => state.apply_objects(objects),
        TraceStep::DeleteObjects { objects } => state.delete_objects(objects),
    }
}
