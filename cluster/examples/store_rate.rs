//! What a write and a read of the embedded store cost, in nanoseconds.
//!
//! `cargo run --release -p schedlab-cluster --example store_rate`
//!
//! A million pods are created, patched, bound and deleted in batches, and one watcher drains every
//! thousand writes. Three readings of the same run, each the median of the rounds:
//! - `trimmed`: mean over slices of a thousand without the slowest tenth. Free of other processes,
//!   but blind to part of what is rare and dear: one slice in four of `create` maps new memory.
//! - `mean`: over all slices, time in which other processes had the core included.
//! - `cpu`: on-core time of a step and its drains, user and kernel, from the thread's schedstat.
//!   The fairest on a busy machine.
#![allow(clippy::print_stdout, reason = "an example shows its numbers")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use k8s_openapi::api::core::v1::Pod;
use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{
    Api, Binding, ConditionPatch, ConditionStatus, NominatedNodeNamePatch, PodStatusPatch,
};
use serde_json::json;

const PODS: u32 = 1_000_000;
const SLICE: u32 = 1_000;
const NODES: u64 = 5_000;
const ROUNDS: usize = 7;
const STEPS: [&str; 5] = ["create", "patch", "bind", "delete", "drain (per event)"];

/// Nanoseconds for each item, by step.
struct Round {
    trimmed: [f64; STEPS.len()],
    mean: [f64; STEPS.len()],
    /// Of the steps that write; the drains are in it.
    cpu: [f64; STEPS.len() - 1],
}

fn main() {
    for batch in [1, 20, 1_000] {
        let rounds: Vec<Round> = (0..ROUNDS).map(|_| round(batch)).collect();
        println!("batch of {batch}, ns per item: trimmed, mean, cpu with drain");
        for (step, name) in STEPS.iter().enumerate() {
            let trimmed = median_of(rounds.iter().map(|round| round.trimmed[step]));
            let mean = median_of(rounds.iter().map(|round| round.mean[step]));
            print!("  {name:<18} {trimmed:6.1} {mean:7.1}");
            match rounds[0].cpu.get(step) {
                Some(_) => println!(" {:7.1}", median_of(rounds.iter().map(|round| round.cpu[step]))),
                None => println!(),
            }
        }
    }
}

fn median_of(values: impl Iterator<Item = f64>) -> f64 {
    schedlab_stats::median(&values.collect::<Vec<f64>>())
}

/// Time this thread has had a core; exact to a scheduler tick, so only for long stretches.
fn on_core_ns() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(f64::NAN)
}

fn round(batch: usize) -> Round {
    let cluster = EmbeddedCluster::new(Arc::new(|| 0));
    let pod: Pod = serde_json::from_value(json!({
        "metadata": { "generateName": "pod-" },
        "spec": { "containers": [{ "name": "c", "resources": { "requests": { "cpu": "100m" } } }] }
    }))
    .expect("the pod is well formed");
    let template = cluster.pod_template(pod, "default").expect("the template is fine");
    let nodes: Vec<_> = (0..NODES).map(|node| cluster.node_name_id(&format!("node-{node}"))).collect();
    let mut watch = cluster.watch(cluster.resource_version()).expect("the version exists");
    let mut events = Vec::new();
    let mut results = Vec::new();
    let mut versions = Vec::new();
    let mut spent_ns: [Vec<u64>; STEPS.len()] = Default::default();
    let mut event_count = 0;
    let mut timed = |step: usize, work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        spent_ns[step].push(start.elapsed().as_nanos() as u64);
        events.clear();
        let start = Instant::now();
        event_count += watch.drain_into(&mut events).expect("the events are kept");
        spent_ns[4].push(start.elapsed().as_nanos() as u64);
        black_box(&events);
    };

    // The watcher reads every 1,000 pods, whatever the batch: that is what a busy one does.
    let mut on_core = vec![on_core_ns()];
    assert_eq!(SLICE as usize % batch, 0, "a slice holds whole batches");
    let slices: Vec<Vec<_>> = (0..PODS / SLICE)
        .map(|_| {
            let mut pods = Vec::with_capacity(SLICE as usize);
            timed(0, &mut || {
                for _ in 0..SLICE as usize / batch {
                    let created = cluster.create_pods(&template, batch as u32).expect("created");
                    pods.extend(created.uids());
                }
            });
            pods
        })
        .collect();
    on_core.push(on_core_ns());
    for pods in &slices {
        let condition = ConditionPatch {
            type_: "PodScheduled",
            status: ConditionStatus::False,
            reason: "Unschedulable",
            message: "0/5000 nodes are available: 5000 Insufficient cpu. preemption: 0/5000 nodes \
                      are available: 5000 No preemption victims found for incoming pod.",
        };
        let patch = |&pod| PodStatusPatch {
            pod,
            condition: Some(condition.into()),
            nomination: NominatedNodeNamePatch::Keep,
            phase: None,
        };
        let patches: Vec<_> = pods.iter().map(patch).collect();
        timed(1, &mut || {
            for patches in patches.chunks(batch) {
                versions.clear();
                cluster.patch_pod_status_batch(patches, &mut versions);
            }
        });
    }
    on_core.push(on_core_ns());
    for pods in &slices {
        let bind = |&pod: &schedlab_core::ids::PodUid| Binding { pod, node: nodes[(pod.0 % NODES) as usize] };
        let bindings: Vec<_> = pods.iter().map(bind).collect();
        timed(2, &mut || {
            for bindings in bindings.chunks(batch) {
                results.clear();
                cluster.bind_batch(bindings, &mut results);
                assert!(results.iter().all(Result::is_ok), "every pod is free");
            }
        });
    }
    on_core.push(on_core_ns());
    for pods in &slices {
        timed(3, &mut || {
            for pods in pods.chunks(batch) {
                results.clear();
                cluster.delete_pods_batch(pods, &mut results);
            }
        });
    }
    on_core.push(on_core_ns());
    let pod_count: usize = slices.iter().map(Vec::len).sum();
    assert_eq!(cluster.pod_count(), 0, "every pod was deleted");
    assert_eq!(event_count, 4 * pod_count, "every write had one event");
    let per_item = |ns: f64| ns / f64::from(SLICE);
    Round {
        mean: std::array::from_fn(|step| per_item(mean_ns(&spent_ns[step]))),
        cpu: std::array::from_fn(|step| (on_core[step + 1] - on_core[step]) / f64::from(PODS)),
        trimmed: spent_ns.map(|slices| per_item(trimmed_mean_ns(slices))),
    }
}

fn mean_ns(slices_ns: &[u64]) -> f64 {
    slices_ns.iter().sum::<u64>() as f64 / slices_ns.len() as f64
}

fn trimmed_mean_ns(mut slices_ns: Vec<u64>) -> f64 {
    slices_ns.sort_unstable();
    mean_ns(&slices_ns[..slices_ns.len() * 9 / 10])
}
