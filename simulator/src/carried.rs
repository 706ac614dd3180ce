//! What nodes are and must carry by what a scheduler was told, kept up event by event: the snapshot is
//! compared with it after every event.

use super::scenario::NODES_MAX;
use super::shape::{NodeShape, PodShape};

const MI: i64 = 1 << 20;

/// What the pods of a node ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) cpu_milli: i64,
    pub(super) memory_bytes: i64,
    pub(super) pods: i64,
}

impl Load {
    fn of(shape: &PodShape) -> Load {
        let memory_bytes = i64::from(shape.memory_mi) * MI;
        Load { cpu_milli: i64::from(shape.cpu_milli), memory_bytes, pods: 1 }
    }

    pub(super) fn add(&mut self, shape: &PodShape) {
        let Load { cpu_milli, memory_bytes, pods } = Load::of(shape);
        self.cpu_milli += cpu_milli;
        self.memory_bytes += memory_bytes;
        self.pods += pods;
    }

    fn take_off(&mut self, shape: &PodShape) {
        let Load { cpu_milli, memory_bytes, pods } = Load::of(shape);
        self.cpu_milli -= cpu_milli;
        self.memory_bytes -= memory_bytes;
        self.pods -= pods;
    }
}

/// Nodes by number, and their loads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Carried {
    pub(super) loads: [Load; NODES_MAX as usize],
    pub(super) nodes: [Option<NodeShape>; NODES_MAX as usize],
    /// Pods that have not finished, on a node or not.
    pub(super) pod_count: usize,
}

impl Carried {
    /// A pod that has not finished came, or a finished one was seen as it was.
    pub(super) fn come(&mut self, shape: &PodShape, node: Option<u8>) {
        self.pod_count += 1;
        if let Some(node) = node {
            self.loads[usize::from(node)].add(shape);
        }
    }

    /// A pod that had not finished is not what it was.
    pub(super) fn go(&mut self, shape: &PodShape, node: Option<u8>) {
        self.pod_count -= 1;
        if let Some(node) = node {
            self.loads[usize::from(node)].take_off(shape);
        }
    }
}
