//! The pods of createPods: rendered, and created as fast as the API takes them.

use std::ops::Range;
use std::sync::Arc;

use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{Api, PodTemplateRef};
use serde_json::{Value, json};

use super::CreatePods;
use super::volumes::{BoundVolume, set, volumes_of};
use crate::executor::{Ending, OpContext, OpError, objects};

/// Pods created under one lock: few enough that the scheduler gets the first ones soon.
const PODS_PER_CALL: u32 = 256;

/// Creates the first `count` pods.
pub(super) fn create(context: &OpContext<'_>, templates: &Templates, count: u32) -> Result<Ending, OpError> {
    match templates {
        Templates::One(template) => {
            let mut left = count;
            while 0 < left {
                let batch = left.min(PODS_PER_CALL);
                context.cluster.create_pods(template, batch)?;
                left -= batch;
                if context.is_interrupted() {
                    return Ok(Ending::Interrupted);
                }
            }
        }
        Templates::Each(pods) => {
            for OnePod { template, volume } in pods.iter().take(count as usize) {
                if let Some(volume) = volume {
                    volume.create(&context.cluster)?;
                }
                context.cluster.create_pods(template, 1)?;
                if context.is_interrupted() {
                    return Ok(Ending::Interrupted);
                }
            }
        }
    }
    Ok(Ending::Completed)
}

/// The pods of an op before they are created. Rendering and conversion happen before the clock
/// runs: upstream's client does that work beside the scheduler, on other cores.
pub(in crate::ops) enum Templates {
    /// All pods are alike but for their names.
    One(PodTemplateRef),
    /// Each pod has its own, or shares it with some.
    Each(Vec<OnePod>),
}

/// A pod and what is created before it.
pub(in crate::ops) struct OnePod {
    template: PodTemplateRef,
    volume: Option<BoundVolume>,
}

impl Templates {
    /// `None` when the run was interrupted meanwhile: a hundred thousand pods take seconds.
    pub(in crate::ops) fn prepare(
        context: &OpContext<'_>,
        op: &CreatePods,
    ) -> Result<Option<Templates>, OpError> {
        let template = op.template.as_ref();
        let batches = template.is_some() && 2 <= op.signature_batch_size;
        let by_index = template.is_some_and(|template| template.depends_on_index());
        if !by_index && !batches && op.volumes.is_none() {
            return Ok(Some(Templates::One(pod_of(context, op, 0)?)));
        }
        let mut pods: Vec<OnePod> = Vec::with_capacity(op.count as usize);
        for index in 0..op.count {
            if context.is_interrupted() {
                return Ok(None);
            }
            let volume = op.volumes.as_ref().map(|own| BoundVolume::new(own, &op.namespace, index));
            // Pods of a batch differ in nothing else.
            let is_like_last = !by_index && volume.is_none() && index % op.signature_batch_size != 0;
            let template = match pods.last() {
                Some(last) if is_like_last => Arc::clone(&last.template),
                _ => pod_of(context, op, index)?,
            };
            pods.push(OnePod { template, volume: volume.transpose()? });
        }
        Ok(Some(Templates::Each(pods)))
    }
}

impl Templates {
    /// Makes the pods of these numbers; what is measured of them begins at a time that may be over.
    pub(in crate::ops) fn create_intended_at(
        &self,
        cluster: &EmbeddedCluster,
        numbers: Range<usize>,
        intended_ns: u64,
    ) -> Result<(), OpError> {
        match self {
            Templates::One(template) => {
                let count = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                cluster.create_pods_intended_at(template, count, intended_ns)?;
            }
            Templates::Each(pods) => {
                for OnePod { template, volume } in &pods[numbers] {
                    if let Some(volume) = volume {
                        volume.create(cluster)?;
                    }
                    cluster.create_pods_intended_at(template, 1, intended_ns)?;
                }
            }
        }
        Ok(())
    }
}

fn pod_of(context: &OpContext<'_>, op: &CreatePods, index: u32) -> Result<PodTemplateRef, OpError> {
    let (mut value, path) = match &op.template {
        Some(template) => (template.render_json(index, op.count)?, template.template().path()),
        None => (objects::base_pod(), "the built-in pod".as_ref()),
    };
    // Differs: upstream labels every pod from a template, also where no batch size is set. Then
    // each pod has a label of its own that nothing selects, and no two pods would be of one class
    // (`pods_of_a_batch_share_a_label`).
    if op.template.is_some() && 2 <= op.signature_batch_size {
        let signature = Value::String(format!("signature-label-{}", index / op.signature_batch_size));
        set(&mut value, &["metadata", "labels", "signature"], signature, path)?;
    }
    if op.volumes.is_some() {
        set(&mut value, &["spec", "volumes"], json!(volumes_of(index)), path)?;
    }
    Ok(context.cluster.pod_template(objects::pod(value, path)?, &op.namespace)?)
}
