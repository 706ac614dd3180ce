//! The log tells the whole story: replayed from the start, it ends in the listed state.

use std::collections::BTreeMap;

use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{
    Api, Binding, ConditionPatch, ConditionStatus, EventKind, ListQuery, NominatedNodeNamePatch, Object,
    ObjectKey, PodFilter, PodPhase, PodStatusPatch, StoredPodRow, WatchedObject,
};
use schedlab_core::ids::PodUid;
use serde_json::{Value, json};

use crate::support::{cluster, drain, node_value, object, patch, pod_value, template};

const SEEDS: u64 = 40;
const STEPS: usize = 400;

/// SplitMix64: a seeded stream without a dependency.
struct Rng(u64);

impl Rng {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn name(&mut self) -> String {
        format!("x-{}", self.below(8))
    }
}

/// What a watcher believes.
#[derive(Debug, Default, PartialEq)]
struct Mirror {
    pods: BTreeMap<u64, String>,
    nodes: BTreeMap<String, Value>,
    others: BTreeMap<(String, String), Value>,
}

fn show(row: &StoredPodRow) -> String {
    format!("{row:?}")
}

fn json_of(object: &impl serde::Serialize) -> Value {
    serde_json::to_value(object).expect("an object has a JSON form")
}

impl Mirror {
    fn apply(&mut self, kind: EventKind, object: &WatchedObject) {
        match object {
            WatchedObject::Pod(row) => put(&mut self.pods, kind, row.uid.0, show(row)),
            WatchedObject::Node(node) => {
                put(&mut self.nodes, kind, node.input.name.clone(), json_of(&*node.object));
            }
            WatchedObject::PodEvent(_) => panic!("no scheduler runs here"),
            WatchedObject::Other(other) => {
                let name = other.metadata.name.clone().expect("a stored object has a name");
                put(&mut self.others, kind, (other.kind.clone(), name), json_of(&**other));
            }
        }
    }

    fn list(cluster: &EmbeddedCluster) -> Self {
        let mut mirror = Mirror::default();
        for row in cluster.pods_in(PodFilter::default()).expect("a list").rows {
            mirror.pods.insert(row.uid.0, show(&row));
        }
        for kind in ["Node", "Namespace", "Service"] {
            for item in cluster.list(&ListQuery::all("v1", kind)).expect("a list").items {
                let name = item.metadata().name.clone().expect("a stored object has a name");
                match item {
                    Object::Node(node) => drop(mirror.nodes.insert(name, json_of(&*node))),
                    Object::Other(other) => {
                        mirror.others.insert((kind.to_owned(), name), json_of(&*other));
                    }
                    Object::Pod(_) => panic!("no pods are listed here"),
                }
            }
        }
        mirror
    }
}

/// An event must fit what is known: nothing is added twice, nothing changes that is not there.
fn put<K: Ord, V>(known: &mut BTreeMap<K, V>, kind: EventKind, key: K, value: V) {
    let was_there = match kind {
        EventKind::Added | EventKind::Modified => known.insert(key, value).is_some(),
        EventKind::Deleted => known.remove(&key).is_some(),
    };
    assert_eq!(was_there, kind != EventKind::Added, "an event of kind {kind:?}");
}

/// One random call; whether it is refused does not matter here.
fn step(cluster: &EmbeddedCluster, rng: &mut Rng) {
    let pod = PodUid(1 + rng.below(60));
    let node = cluster.node_name_id(&rng.name());
    let name = rng.name();
    let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": name, "namespace": "default" } });
    let key = ObjectKey::pod("default", &name);
    match rng.below(14) {
        0 => drop(cluster.create_pods(&template(cluster, "x-"), 1 + rng.below(4) as u32)),
        1 => {
            let mut value = pod_value(&name);
            if rng.below(2) == 0 {
                value["metadata"]["finalizers"] = json!(["example.com/f"]);
            }
            drop(cluster.create(object(value)));
        }
        2 | 3 => drop(cluster.bind_pod(Binding { pod, node })),
        4 => {
            let nomination = if rng.below(2) == 0 {
                NominatedNodeNamePatch::Clear
            } else {
                NominatedNodeNamePatch::Set(node)
            };
            drop(cluster.patch_pod_status(PodStatusPatch { nomination, ..patch(pod) }));
        }
        5 => {
            let message = format!("0/{} nodes are available", rng.below(3));
            let condition = ConditionPatch {
                type_: "PodScheduled",
                status: ConditionStatus::False,
                reason: "Unschedulable",
                message: &message,
            };
            drop(
                cluster.patch_pod_status(PodStatusPatch { condition: Some(condition.into()), ..patch(pod) }),
            );
        }
        6 => drop(cluster.patch_pod_status(PodStatusPatch { phase: Some(PodPhase::Running), ..patch(pod) })),
        7 => drop(cluster.delete_pod(pod)),
        8 => {
            if let Ok(mut stored) = cluster.get(&key) {
                stored.metadata_mut().finalizers = None;
                drop(cluster.update(stored));
            }
        }
        9 => drop(cluster.create(object(node_value(&name)))),
        10 => {
            let mut value = node_value(&name);
            value["metadata"]["labels"] = json!({ "n": rng.below(3).to_string() });
            drop(cluster.update(object(value)));
        }
        11 => drop(cluster.delete(&ObjectKey::node(&name), None)),
        12 => drop(cluster.create(object(service))),
        _ => drop(cluster.delete(&ObjectKey::namespaced("v1", "Service", "default", &name), None)),
    }
}

#[test]
fn replayed_watch_equals_the_list() {
    for seed in 0..SEEDS {
        let cluster = cluster();
        let mut watch = cluster.watch(0).expect("nothing is trimmed yet");
        let mut rng = Rng(seed);
        let mut mirror = Mirror::default();
        let mut last_version = 0;
        for at in 0..STEPS {
            step(&cluster, &mut rng);
            if rng.below(10) == 0 || at + 1 == STEPS {
                for event in drain(&mut watch) {
                    assert_eq!(event.resource_version(), last_version + 1, "SEED={seed}");
                    last_version += 1;
                    mirror.apply(event.kind, &event.object);
                }
            }
        }
        assert_eq!(mirror, Mirror::list(&cluster), "SEED={seed}");
        assert_eq!(last_version, cluster.resource_version(), "SEED={seed}");
        assert_eq!(mirror.pods.len(), cluster.pod_count(), "SEED={seed}");
    }
}

#[test]
fn the_same_calls_make_the_same_cluster() {
    let run = || {
        let cluster = cluster();
        let mut rng = Rng(7);
        for _ in 0..STEPS {
            step(&cluster, &mut rng);
        }
        Mirror::list(&cluster)
    };
    assert_eq!(run(), run());
}
