//! The cluster of a scheduler_perf workload at the moment before an op creates its pods.

use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{Api, EventKind, WatchedObject};
use schedlab_cluster::runtime::Bridge;

use super::error::ExplainError;
use super::manifests::AskedPod;
use super::report::ExplainedPod;
use super::subject::{LoadedCluster, Subject, UnusedObjects, config_warnings, scheduler_of};
use crate::executor::{Control, Ending, RunSettings, read_config, run_until};
use crate::ops::Measuring;
use crate::ops::create_pods::CreatePods;
use crate::resolve::ResolvedWorkload;

/// Which moment of a workload, and which pod.
#[derive(Clone, Debug)]
pub struct ExplainedWorkload<'a> {
    /// The workload.
    pub workload: &'a ResolvedWorkload,
    /// The op, from 0, before which the question is asked; the measured one if absent.
    pub op: Option<usize>,
    /// The pod, with its file; the first of the op's template if absent.
    pub pod: Option<AskedPod>,
}

/// Runs a workload up to an op and asks about the first pod that the op would create.
pub fn from_workload(
    question: ExplainedWorkload<'_>,
    settings: RunSettings,
    control: Control<'_>,
) -> Result<Subject, ExplainError> {
    let workload = question.workload;
    let (at, op) = chosen_op(workload, question.op)?;
    let mut stopped = run_until(workload, at, settings, control)?;
    match &stopped.ending {
        Ending::Completed => {}
        Ending::Interrupted => {
            return Err(stuck(workload, at, "it was interrupted".to_owned()));
        }
        Ending::Stuck(why) => return Err(stuck(workload, at, why.clone())),
    }
    let config = workload.scheduler_config.as_ref().map(read_config).transpose()?;
    let mut scheduler = scheduler_of(config.as_ref(), control.registry)?;
    let mut bridge = Bridge::default();
    for event in &stopped.events {
        bridge.deliver(event, stopped.cluster.as_ref(), &mut scheduler, 0);
    }
    if scheduler.world().nodes().node_count() == 0 {
        let from = format!("{} before op {at}", workload.full_name);
        return Err(ExplainError::NoNodes { from });
    }
    let source = format!("{}, before op {at} (createPods)", workload.full_name);
    let mut left_out =
        UnusedObjects { warnings: config_warnings(config.as_ref()), ..UnusedObjects::default() };
    let (pod, namespace) = match question.pod {
        Some(AskedPod { pod, ignored_fields, .. }) => {
            let namespace = pod.metadata.namespace.clone().unwrap_or_else(|| op.namespace.clone());
            left_out.fields = ignored_fields;
            (pod, namespace)
        }
        None => {
            let pod = stopped.first_pod(workload, at, op)?;
            // What comes with the pod, such as its volume and claim.
            for event in stopped.news()? {
                if event.kind == EventKind::Added && matches!(event.object, WatchedObject::Other(_)) {
                    bridge.deliver(&event, stopped.cluster.as_ref(), &mut scheduler, 0);
                }
            }
            (pod, op.namespace.clone())
        }
    };
    let name =
        pod.metadata.name.clone().or_else(|| Some(format!("{}*", pod.metadata.generate_name.as_ref()?)));
    let template = stopped.cluster.pod_template(pod, &namespace)?;
    let facts = ExplainedPod::of(&template.input, namespace, name.unwrap_or_default(), None);
    let cluster = EmbeddedCluster::clone(&stopped.cluster);
    Ok(Subject::of(LoadedCluster { scheduler, cluster, source, left_out }, &template.input, facts))
}

fn stuck(workload: &ResolvedWorkload, op: usize, why: String) -> ExplainError {
    ExplainError::Stuck { workload: workload.full_name.clone(), op, why }
}

/// The op that was asked for; without one, the first createPods that is measured, or else the last.
fn chosen_op(workload: &ResolvedWorkload, op: Option<usize>) -> Result<(usize, &CreatePods), ExplainError> {
    let bad = |message: String| ExplainError::Op { workload: workload.full_name.clone(), message };
    let creates: Vec<(usize, &CreatePods)> = workload
        .ops
        .iter()
        .enumerate()
        .filter_map(|(at, op)| Some((at, op.as_op::<CreatePods>()?)))
        .collect();
    if let Some(wanted) = op {
        let numbers: Vec<String> = creates.iter().map(|(at, _)| at.to_string()).collect();
        let found = creates.iter().find(|(at, _)| *at == wanted);
        return found.copied().ok_or_else(|| {
            bad(format!("--op {wanted} does not create pods; these do: {}", numbers.join(", ")))
        });
    }
    let start = workload.ops.iter().position(|op| op.facts().measuring == Measuring::Begins);
    let is_measured =
        |(at, op): &&(usize, &CreatePods)| op.collect_metrics || start.is_some_and(|start| start < *at);
    let found = creates.iter().find(is_measured).or(creates.last());
    found.copied().ok_or_else(|| bad("no op creates pods; name the pod with --pod-file and --cluster".into()))
}
