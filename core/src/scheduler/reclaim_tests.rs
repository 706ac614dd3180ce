//! What nothing refers to any more is given back, and nobody notices.

use std::collections::BTreeMap;

use super::*;
use crate::binding::CallId;
use crate::cycle::probe::NoProbe;
use crate::fake::{self, Rng, for_each_seed};
use crate::input::{NodeInput, ServiceInput};
use crate::testkit::{PodParts, SchedulerLab, pod};

/// 1.18, 4.72 and 9.44 MB after 1, 4 and 8 waves, when node names were kept for good.
#[test]
fn nominated_node_names_of_missing_nodes_are_reclaimed() {
    let mut lab = SchedulerLab::new(SchedulerSettings::default(), Vec::new(), &[("a", "4")]);
    let mut uid = 0;
    let mut after_waves = Vec::new();
    for wave in 0..8 {
        let first = uid;
        for _ in 0..20_000 {
            uid += 1;
            lab.pod(uid, pod().cpu("1").priority(5).gated("wait"));
            lab.nominated(uid, Some(&format!("nowhere-{wave}-{uid}")));
        }
        (first + 1..=uid).for_each(|uid| lab.gone(uid));
        let (node_bytes, _) = lab.scheduler.memory_bytes();
        after_waves.push((node_bytes, lab.scheduler.world().vocabulary.len()));
    }
    let first_bytes = after_waves[0].0;
    for &(node_bytes, strings) in &after_waves {
        assert!(node_bytes <= first_bytes, "{after_waves:?}");
        // No more than is not worth a look.
        assert!(strings < 5_000, "{after_waves:?}");
    }
}

#[test]
fn reused_pod_class_keeps_its_id_without_pods() {
    let mut lab = SchedulerLab::new(SchedulerSettings::default(), Vec::new(), &[("a", "4")]);
    let spec = Arc::new(pod().cpu("1").priority(5));
    let class = lab.scheduler.compile(&spec);
    let other = lab.scheduler.compile(&Arc::new(pod().cpu("2").priority(5)));
    for uid in 1..5 {
        let update = PodUpdate { uid: PodUid(uid), class, ..PodUpdate::default() };
        lab.scheduler.on_event(ObjectEvent::pod(update), lab.now_ns);
        lab.gone(uid);
        lab.scheduler.reclaim();
        assert_eq!(lab.scheduler.world().class(class).input, spec);
    }
    assert_eq!(lab.scheduler.world().class_count(), 1, "the other was not used again");
    let fresh = lab.scheduler.compile(&Arc::new(pod().cpu("3").priority(5)));
    assert_eq!(fresh, other, "its id is given out again");
}

/// One of two schedulers that are told the same.
struct Side {
    scheduler: Scheduler,
    sweeps: bool,
}

impl Side {
    fn new(seed: u64, sweeps: bool) -> Side {
        let mut scheduler = Scheduler::new(EngineSettings { seed, ..EngineSettings::default() }, 0);
        scheduler.set_reclaim_floor(u64::MAX / 16);
        Side { scheduler, sweeps }
    }

    fn told(&mut self) {
        if self.sweeps {
            self.scheduler.reclaim();
        }
    }

    fn pod(&mut self, uid: u64, spec: &PodInput, node: Option<&str>) {
        let class = self.scheduler.compile(&Arc::new(spec.clone()));
        let node = node.map(|name| self.scheduler.node_id(name));
        self.scheduler.on_event(
            ObjectEvent::pod(PodUpdate { uid: PodUid(uid), class, node, ..PodUpdate::default() }),
            0,
        );
        self.told();
    }

    fn tell(&mut self, event: &Told, pods: &BTreeMap<u64, PodInput>) -> Vec<String> {
        match event {
            Told::Node(node) => self.scheduler.on_event(ObjectEvent::node(&Arc::new(node.clone())), 0),
            Told::NodeGone(name) => self.scheduler.on_event(ObjectEvent::node_deleted(name), 0),
            Told::Pod(uid, node) => self.pod(*uid, &pods[uid], node.as_deref()),
            Told::PodGone(uid) => self.scheduler.on_event(ObjectEvent::pod_deleted(PodUid(*uid)), 0),
            Told::Nomination(uid, name) => {
                let node = self.scheduler.node_id(name);
                self.scheduler.on_event(ObjectEvent::nominated_node_name(PodUid(*uid), Some(node), 0), 0);
            }
            Told::Storage(object) => {
                self.scheduler.on_event(ObjectEvent::Added(ObjectInput::Storage(object)), 0)
            }
            Told::StorageGone(key) => self.scheduler.on_event(ObjectEvent::storage_deleted(key), 0),
            Told::Namespace(name, labels) => {
                self.scheduler.on_event(ObjectEvent::Modified(ObjectInput::Namespace { name, labels }), 0)
            }
            Told::Service(service) => {
                self.scheduler.on_event(ObjectEvent::Modified(ObjectInput::Service(service)), 0);
            }
        }
        self.told();
        self.drive(pods)
    }

    /// Tries pods until none is ready; what was wanted of the API, which does it at once.
    fn drive(&mut self, pods: &BTreeMap<u64, PodInput>) -> Vec<String> {
        let mut said = Vec::new();
        for _ in 0..20 {
            for _ in 0..100 {
                if self.scheduler.schedule_one(&mut NoProbe) == ScheduleOneOutcome::Idle {
                    break;
                }
                self.told();
            }
            let mut calls = Vec::new();
            self.scheduler.take_calls(&mut calls);
            if calls.is_empty() {
                break;
            }
            for OutgoingCall { id, call } in calls {
                said.push(call.text(self.scheduler.world()));
                if id != CallId::UNTRACKED {
                    self.scheduler.on_answer(id, Ok(()), 0);
                }
                match call {
                    ApiCall::Bind { pod, node } => {
                        let name = self.scheduler.world().node_name(node).to_owned();
                        self.pod(pod.0, &pods[&pod.0], Some(&name));
                    }
                    ApiCall::DeletePod { pod } => self.scheduler.on_event(ObjectEvent::pod_deleted(pod), 0),
                    ApiCall::PatchStatus(_)
                    | ApiCall::BindVolumes(_)
                    | ApiCall::WriteClaims(_)
                    | ApiCall::PatchPodGroupStatus(_)
                    | ApiCall::AddDisruptionTarget { .. } => {}
                }
                self.told();
            }
        }
        said
    }
}

enum Told {
    Node(NodeInput),
    NodeGone(String),
    Pod(u64, Option<String>),
    PodGone(u64),
    Nomination(u64, String),
    Storage(crate::input::storage::StorageInput),
    StorageGone(crate::input::storage::StorageKey),
    Namespace(String, crate::input::Labels),
    Service(ServiceInput),
}

/// Something that happens in turn `turn`, often under a name that nothing had before.
fn something(rng: &mut Rng, turn: u64, pods: &mut BTreeMap<u64, PodInput>) -> Told {
    let node_name = |rng: &mut Rng| format!("n{}", rng.range(0..=5));
    let any_pod = |rng: &mut Rng| rng.range(1..=usize::try_from(turn.max(1)).expect("few turns")) as u64;
    match rng.range(0..=19) {
        0..=3 => {
            let index = rng.range(0..=5);
            let mut node = fake::node(rng, index);
            node.labels.insert("turn".to_owned(), turn.to_string());
            Told::Node(node)
        }
        4 => Told::NodeGone(node_name(rng)),
        5..=11 => {
            let mut spec = fake::pod(rng);
            if rng.chance(50) {
                spec.labels.insert("turn".to_owned(), turn.to_string());
            }
            pods.insert(turn, spec);
            Told::Pod(turn, rng.chance(30).then(|| node_name(rng)))
        }
        12..=15 => Told::PodGone(any_pod(rng)),
        16 => {
            Told::Nomination(any_pod(rng), if rng.chance(50) { node_name(rng) } else { format!("x{turn}") })
        }
        17 => match fake::storage(rng) {
            objects if objects.is_empty() => Told::NodeGone(node_name(rng)),
            objects if rng.chance(70) => Told::Storage(rng.pick(&objects).clone()),
            objects => Told::StorageGone(rng.pick(&objects).key()),
        },
        18 => {
            let name = *rng.pick(&["default", "other"]);
            Told::Namespace(name.to_owned(), [("turn".to_owned(), turn.to_string())].into())
        }
        _ => Told::Service(ServiceInput {
            namespace: "default".to_owned(),
            name: "service".to_owned(),
            selector: Some([("turn".to_owned(), (turn / 4).to_string())].into()),
        }),
    }
}

#[test]
fn reclaim_after_every_event_changes_no_decision() {
    for_each_seed("reclaim_after_every_event_changes_no_decision", 150, |rng| {
        let seed = rng.next_u64();
        let mut sides = [false, true].map(|sweeps| Side::new(seed, sweeps));
        let mut pods = BTreeMap::new();
        for turn in 1..=120 {
            let event = something(rng, turn, &mut pods);
            let [kept, swept] = sides.each_mut().map(|side| side.tell(&event, &pods));
            assert_eq!(kept, swept, "turn {turn}");
        }
        let [kept, swept] = sides.each_ref().map(|side| side.scheduler.world().thing_count());
        assert!(swept < kept, "{swept} things are held, {kept} without sweeps");
        let counts = sides.each_ref().map(|side| side.scheduler.counts());
        assert_eq!(counts[0], counts[1]);
    });
}
