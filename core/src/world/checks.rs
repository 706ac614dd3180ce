//! What must hold of the world between two events: whatever is kept twice says the same.
//!
//! The simulator and the tests ask after events, so that a fault is found where it happens and not where
//! it is first read. A look costs about as much as there are nodes, pods and strings.

use super::World;
use crate::resources::ResourceKind;
use crate::snapshot::ports::HostPort;
use crate::topology::Placed;

impl World {
    /// Panics where parts of the world do not agree. To be called between two events.
    pub fn check(&self) {
        assert_eq!(self.supposed(), 0, "suppositions are left");
        assert!(self.thoughts.ports.is_empty(), "notes of suppositions are left");
        self.vocabulary.check();
        self.classes.check();
        self.nodes.check(&self.vocabulary);
        self.pods.check();
        self.nominator.check();
        self.budgets.check();
        self.storage.check();
        self.dra.check();
        self.owners.check();
        self.pod_groups.check();
        self.check_reserved();
        self.check_references();
        self.check_rows();
        self.check_priorities();
        self.topology.check(placed!(self));
    }

    fn check_references(&self) {
        for pod in self.pods.ids() {
            assert!(self.classes.is_live(self.pods.get(pod).class), "a pod's class is live");
        }
        for (_, nominations) in self.nominator.nodes() {
            for nomination in nominations {
                assert!(self.classes.is_live(nomination.class), "a nominated pod's class is live");
            }
        }
        for (&name, &labels) in &self.namespaces {
            assert!(self.vocabulary.symbols.is_live(name), "a namespace's name is interned");
            assert!(self.vocabulary.is_live_label_set(labels), "a namespace's labels are interned");
        }
    }

    /// Volumes and devices are taken for pods that are known.
    fn check_reserved(&self) {
        for &pod in self.volumes_of_pods.keys() {
            assert!(self.pods.find(pod).is_some(), "volumes are taken for a pod that is known");
        }
        for pod in self.dra.reserved_for() {
            assert!(self.pods.find(pod).is_some(), "devices are taken for a pod that is known");
        }
        for pod in self.pods.ids() {
            let Some(group) = self.pod_groups.of_pod(pod) else { continue };
            let group = self.pod_groups.get(group);
            let is_counted = group.scheduled_pods_count() > 0 || self.pods.get(pod).node().is_none();
            assert!(is_counted, "a pod on a node counts among the scheduled ones of its group");
        }
    }

    /// Columns are the sums over the pods of their rows.
    fn check_rows(&self) {
        let columns = self.nodes.columns();
        for (row, &id) in columns.id.iter().enumerate() {
            let classes = || self.pods.on_node(id).map(|pod| self.classes.get(self.pods.get(pod).class));
            let count = i64::try_from(classes().count()).expect("few pods");
            assert_eq!(columns.pod_count[row], count, "a row counts the pods of its node");
            for kind in [ResourceKind::Cpu, ResourceKind::Memory, ResourceKind::EphemeralStorage] {
                let sum = classes().fold(0i64, |sum, class| sum.wrapping_add(class.placed.get(kind)));
                assert_eq!(columns.requested(kind, row), sum, "a row sums up what its pods request");
            }
            let cpu = classes().fold(0i64, |sum, class| sum.wrapping_add(class.placed_nonzero_cpu_milli));
            assert_eq!(columns.nonzero_cpu_milli[row], cpu, "CPU with defaults is summed up as well");
            let memory =
                classes().fold(0i64, |sum, class| sum.wrapping_add(class.placed_nonzero_memory_bytes));
            assert_eq!(
                columns.nonzero_memory_bytes[row], memory,
                "memory with defaults is summed up as well"
            );
            for &(scalar, _) in classes().flat_map(|class| &class.placed.scalars) {
                let kind = ResourceKind::Scalar(scalar);
                let sum = classes().fold(0i64, |sum, class| sum.wrapping_add(class.placed.get(kind)));
                assert_eq!(columns.requested(kind, row), sum, "a row sums up what its pods request");
            }
        }
        let is_held = |row: usize, port: HostPort| {
            let pods = self.pods.on_node(columns.id[row]);
            pods.map(|pod| self.classes.get(self.pods.get(pod).class))
                .any(|class| class.host_ports.contains(&port))
        };
        self.nodes.check_ports(is_held);
    }

    fn check_priorities(&self) {
        let counted: usize = self.priorities.iter().map(|&(_, count)| count).sum();
        let placed = self.pods.ids().filter(|&pod| self.pods.get(pod).node().is_some()).count();
        assert_eq!(counted, placed, "a placed pod counts for its priority");
        assert!(self.priorities.is_sorted(), "priorities ascend");
        assert!(self.priorities.iter().all(|&(_, count)| count > 0), "a priority without pods is not kept");
    }
}
