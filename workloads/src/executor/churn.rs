//! churn: a job that creates objects at an interval, and in `recreate` mode deletes them again.
//!
//! Upstream: executor.go `runChurnOp`. An object that cannot be created is left out, as there.
//! Differs: an object that is gone when its turn to be deleted comes is no error: it was to go
//! anyway, and preemption may have been quicker.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use schedlab_cluster::api::{Api, Object, ObjectKey, resource_or_guess};
use schedlab_cluster::{EmbeddedCluster, StatusReason};

use super::background::{Lasts, Ticker};
use super::error::OpError;
use super::outcome::Ending;
use super::{Executor, objects};
use crate::ops::{Churn, ChurnMode, Opcode};

impl Executor<'_> {
    pub(super) fn churn(&mut self, index: usize, op: &Churn) -> Result<Ending, OpError> {
        // Not noted as a namespace to wait for: upstream's churn makes its namespace by itself.
        let mut namespace = objects::namespace();
        namespace.metadata.name = Some(op.namespace.clone());
        self.create_namespace(namespace)?;
        let churned: Vec<Object> = op
            .templates
            .iter()
            .map(|template| {
                let object = objects::any(template.render_json(&Default::default())?, template.path())?;
                Ok(in_namespace(object, &op.namespace))
            })
            .collect::<Result<_, OpError>>()?;
        let lasts = match op.mode {
            ChurnMode::Create { number: Some(_) } => Lasts::ForAWhile,
            ChurnMode::Create { number: None } => Lasts::ToTheEnd(op.interval),
            ChurnMode::Recreate { number } => {
                Lasts::ToTheEnd(op.interval.saturating_mul(number.saturating_mul(2)))
            }
        };
        let (cluster, mode, ticker) = (Arc::clone(&self.cluster), op.mode, Ticker::every(op.interval));
        self.background
            .start((index, Opcode::Churn), lasts, move |stop| run(&cluster, &churned, mode, ticker, stop));
        Ok(Ending::Completed)
    }
}

fn in_namespace(mut object: Object, namespace: &str) -> Object {
    let is_namespaced = resource_or_guess(object.api_version(), object.kind(), Some(namespace)).namespaced;
    object.metadata_mut().namespace = is_namespaced.then(|| namespace.to_owned());
    object
}

fn run(
    cluster: &EmbeddedCluster,
    churned: &[Object],
    mode: ChurnMode,
    mut ticker: Ticker,
    stop: &AtomicBool,
) -> Result<(), OpError> {
    let create = |object: &Object| cluster.create(object.clone()).ok().map(|made| made.key());
    match mode {
        ChurnMode::Create { number } => {
            let mut left = number.unwrap_or(u32::MAX);
            while 0 < left && ticker.wait(stop) {
                churned.iter().for_each(|object| drop(create(object)));
                left -= 1;
            }
        }
        ChurnMode::Recreate { number } => {
            let mut live: Vec<Option<ObjectKey>> = vec![None; churned.len() * number as usize];
            for slots in (0..number as usize).cycle().map(|tick| tick * churned.len()) {
                if !ticker.wait(stop) {
                    break;
                }
                for (slot, object) in live[slots..].iter_mut().zip(churned) {
                    *slot = match slot.take() {
                        Some(key) => delete(cluster, &key).map(|()| None)?,
                        None => create(object),
                    };
                }
            }
        }
    }
    Ok(())
}

fn delete(cluster: &EmbeddedCluster, key: &ObjectKey) -> Result<(), OpError> {
    match cluster.delete(key, None) {
        Err(error) if error.reason != StatusReason::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
