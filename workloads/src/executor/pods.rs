//! createPods: creates pods as fast as the API takes them and waits until they are scheduled.

use schedlab_cluster::api::{Api, PodTemplateRef};
use schedlab_cluster::clock::monotonic_ns;

use super::error::OpError;
use super::outcome::{Collected, Ending};
use super::volumes::{self, VolumeMaker};
use super::{Executor, objects};
use crate::ops::{Completion, CreatePods};

/// Pods created under one lock: few enough that the scheduler gets the first ones soon.
const PODS_PER_CALL: u32 = 256;

/// Where a measured part began.
pub(super) struct Started {
    start_ns: u64,
    calls: schedlab_cluster::api::CallCounts,
    attempts: u64,
    scheduled: u64,
}

impl Executor<'_> {
    pub(super) fn create_pods(&mut self, op: &CreatePods) -> Result<Ending, OpError> {
        self.ensure_namespace(&op.namespace)?;
        let templates = Templates::prepare(self, op)?;
        let mut volumes =
            op.volumes.as_ref().map(|volumes| VolumeMaker::new(volumes, &op.namespace)).transpose()?;
        let started = if op.collect_metrics { Some(self.start_collecting(&op.namespace)?) } else { None };
        let ending = self.create_and_wait(op, &templates, volumes.as_mut())?;
        if let Some(started) = started {
            self.stop_collecting(&op.namespace, u64::from(op.count), started)?;
        }
        Ok(ending)
    }

    fn create_and_wait(
        &mut self,
        op: &CreatePods,
        templates: &Templates,
        mut volumes: Option<&mut VolumeMaker>,
    ) -> Result<Ending, OpError> {
        match templates {
            Templates::One(template) => {
                let mut left = op.count;
                while 0 < left {
                    let count = left.min(PODS_PER_CALL);
                    self.cluster.create_pods(template, count)?;
                    left -= count;
                    if self.is_interrupted() {
                        return Ok(Ending::Interrupted);
                    }
                }
            }
            Templates::Each(templates) => {
                for (index, template) in templates.iter().enumerate() {
                    if let Some(volumes) = volumes.as_mut() {
                        volumes.create(self.cluster.as_ref(), index)?;
                    }
                    self.cluster.create_pods(template, 1)?;
                    if self.is_interrupted() {
                        return Ok(Ending::Interrupted);
                    }
                }
            }
        }
        match op.completion {
            Completion::Scheduled => self.wait_scheduled(&op.namespace, u64::from(op.count)),
            Completion::Created => {
                *self.awaited.entry(op.namespace.clone()).or_default() += u64::from(op.count);
                Ok(Ending::Completed)
            }
            Completion::SteadyState { .. } => {
                Err(OpError::Unsupported { opcode: crate::ops::Opcode::CreatePods })
            }
        }
    }

    pub(super) fn start_collecting(&mut self, namespace: &str) -> Result<Started, OpError> {
        // What came before has settled; whatever is recorded from here on belongs to this part.
        let _ = self.meters.take();
        let started = Started {
            calls: self.cluster.call_counts(),
            attempts: self.runtime.attempts(),
            scheduled: self.cluster.scheduled_count(namespace)?,
            start_ns: monotonic_ns(),
        };
        self.meters.switch.turn_on();
        Ok(started)
    }

    pub(super) fn stop_collecting(
        &mut self,
        namespace: &str,
        created: u64,
        started: Started,
    ) -> Result<(), OpError> {
        let calls = self.cluster.call_counts().since(&started.calls).calls;
        let attempts = self.runtime.attempts() - started.attempts;
        self.rest_shortly();
        self.meters.switch.turn_off();
        let readings = self.meters.take();
        let last_ns = readings.bursts.last().map(|burst| burst.at_ns);
        self.collected.push(Collected {
            collector: namespace.to_owned(),
            start_ns: started.start_ns,
            end_ns: last_ns.unwrap_or_else(monotonic_ns),
            created,
            scheduled: self.cluster.scheduled_count(namespace)?.saturating_sub(started.scheduled),
            readings,
            calls,
            attempts,
        });
        Ok(())
    }
}

/// The pods of an op before they are created. Rendering and conversion happen before the clock
/// runs: upstream's client does that work beside the scheduler, on other cores.
enum Templates {
    /// All pods are alike but for their names.
    One(PodTemplateRef),
    /// Each pod has its own.
    Each(Vec<PodTemplateRef>),
}

impl Templates {
    fn prepare(executor: &Executor<'_>, op: &CreatePods) -> Result<Templates, OpError> {
        let prepare = |pod| executor.cluster.pod_template(pod, &op.namespace);
        let render = |index| match &op.template {
            Some(template) => {
                objects::pod(template.render_json(index, op.count)?, template.template().path())
            }
            None => objects::pod(objects::base_pod(), "the built-in pod".as_ref()),
        };
        let depends_on_index = op.template.as_ref().is_some_and(|template| template.depends_on_index());
        if !depends_on_index && op.volumes.is_none() {
            return Ok(Templates::One(prepare(render(0)?)?));
        }
        let each = (0..op.count).map(|index| {
            let mut pod = render(index)?;
            if op.volumes.is_some() {
                volumes::use_claim(&mut pod, index as usize);
            }
            Ok(prepare(pod)?)
        });
        Ok(Templates::Each(each.collect::<Result<_, OpError>>()?))
    }
}
