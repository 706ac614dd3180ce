//! What recording costs: the same run with the meters on and with no recorder, in turns A B B A.
//! The goal is under 3 %.
//!
//! - `cycle`: one thread steps a scheduler and tells the recorder what the runtime would tell it
//!   (core only). Short samples, so the machine's other work hardly shows.
//! - `run`: embedded cluster, scheduler and binder threads, 5,000 nodes, plain pods (core + queue +
//!   embedded API). The meters are switched on and off from burst to burst of one run: whole runs of
//!   one process differ by more than recording costs. Wall time is what a user sees; CPU time is the
//!   fairer one on a busy machine.
//!
//! Each comparison has its control: the two turns without recording of one A B B A, against each
//! other. A recorded run must bind the same pods to the same nodes as one without a recorder.
//!
//! Memory is had as the program has it: from mimalloc, and kept from one run to the next.
#![allow(clippy::print_stdout, reason = "the ratios are the result")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Node, Pod};
use mimalloc::MiMalloc;
use schedlab_benches::cluster::warm_nodes;
use schedlab_benches::pods::PodKind;
use schedlab_benches::{RunMode, SEED};
use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{Api, Object, PodFilter, PodTemplateRef};
use schedlab_cluster::clock::monotonic_ns;
use schedlab_cluster::link::LinkSettings;
use schedlab_cluster::runtime::record::{BindRecorder, CycleOutcome, CyclePod, CycleRecorder, NoRecorder};
use schedlab_cluster::runtime::{WallRuntime, WallSettings};
use schedlab_core::cycle::engine::EngineSettings;
use schedlab_core::cycle::parallelize::Ways;
use schedlab_core::ids::PodUid;
use schedlab_core::scheduler::{ObjectEvent, PodUpdate, ScheduleOneOutcome, Scheduler};
use schedlab_stats::{Estimate, median, median_estimate};
use schedlab_workloads::measure::Meters;
use serde_json::json;

const GOAL_PERCENT: f64 = 3.0;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// `mi_option_purge_delay`, as in the program: freed memory stays with the process.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = libmimalloc_sys::mi_option_use_numa_nodes - 1;

#[allow(unsafe_code, reason = "the allocator's options are set through its C interface")]
fn keep_freed_memory() {
    // SAFETY: sets a number that the allocator reads when it is about to purge; any value is valid.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, -1) };
}

#[derive(Clone, Copy)]
struct Size {
    node_count: usize,
    pod_count: u32,
    /// Clusters that are filled.
    runs: usize,
    /// Pods of a burst: as long as a short run.
    burst: u32,
    /// Quartets of short samples on one thread.
    cycles: usize,
}

fn main() {
    let mode = RunMode::from_args();
    let size = match mode {
        RunMode::Measure => {
            Size { node_count: 5000, pod_count: 160_000, burst: 20_000, runs: 150, cycles: 500 }
        }
        RunMode::Test => Size { node_count: 50, pod_count: 400, burst: 100, runs: 1, cycles: 1 },
        RunMode::List => return,
    };
    keep_freed_memory();
    let cycles = compare_cycles(size);
    let runs = compare_runs(size);
    if mode == RunMode::Test {
        println!("measuring: both ways bind alike; times of a test say nothing");
        return;
    }
    println!(
        "cycle: {:.0} ns recorded, {:.0} ns not (core only, class cache on)",
        cycles.median_of(0),
        cycles.median_of(1)
    );
    cycles.report("cycle, one thread");
    let pods_per_s = |turn| f64::from(size.burst) / runs.wall.median_of(turn);
    println!(
        "run: {:.0} pods/s recorded, {:.0} pods/s not, bursts of {} pods on {} nodes (core + queue + embedded API)",
        pods_per_s(0),
        pods_per_s(1),
        size.burst,
        size.node_count
    );
    runs.wall.report("run, wall time");
    runs.cpu.report("run, CPU time");
}

/// Times of quartets A B B A, where A is recorded.
#[derive(Default)]
struct Quartets(Vec<[f64; 4]>);

impl Quartets {
    fn median_of(&self, turn: usize) -> f64 {
        median(&self.0.iter().map(|times| times[turn]).collect::<Vec<f64>>())
    }

    fn report(&self, what: &str) {
        // Sums of a quartet are compared, so that drift cancels out.
        let cost = percent(self.0.iter().map(|[a, b, c, d]| (a + d) / (b + c)));
        let same = percent(self.0.iter().map(|[_, b, c, _]| b / c));
        let verdict = if cost.high < GOAL_PERCENT {
            "under the goal"
        } else if cost.low > GOAL_PERCENT.max(same.high) {
            "over the goal"
        } else {
            "inconclusive: the noise is too high to say; run it on a quieter machine"
        };
        println!(
            "{what}: recording costs {} at 95 %, {} quartets; A/A {}; goal {GOAL_PERCENT} %: {verdict}",
            show(cost),
            self.0.len(),
            show(same)
        );
        println!("{what}, quickest tenth of the times: {:+.2} %", self.quickest_tenth());
    }

    /// The same of the times that were disturbed least, without an interval.
    fn quickest_tenth(&self) -> f64 {
        let tenth = |turns: [usize; 2]| {
            let mut times: Vec<f64> = self.0.iter().flat_map(|times| turns.map(|turn| times[turn])).collect();
            times.sort_by(f64::total_cmp);
            times[times.len() / 10]
        };
        (tenth([0, 3]) / tenth([1, 2]) - 1.0) * 100.0
    }
}

fn percent(ratios: impl Iterator<Item = f64>) -> Estimate {
    median_estimate(&ratios.map(|ratio| (ratio - 1.0) * 100.0).collect::<Vec<f64>>(), SEED)
}

fn show(Estimate { value: median, low, high }: Estimate) -> String {
    format!("{median:+.2} % [{low:+.2}, {high:+.2}]")
}

/// Steps two equal schedulers in turns, one recorded and one not.
fn compare_cycles(size: Size) -> Quartets {
    let meters = Meters::default();
    meters.switch.turn_on();
    let (mut on, _) = meters.recorders();
    let (mut recorded, mut plain) = (Stepped::new(size), Stepped::new(size));
    let mut quartets = Quartets::default();
    for turn in 0..size.cycles {
        let first = recorded.round(&mut on);
        let (second, third) = (plain.round(&mut NoRecorder), plain.round(&mut NoRecorder));
        quartets.0.push([first, second, third, recorded.round(&mut on)]);
        assert_eq!(recorded.hash, plain.hash, "quartet {turn}: recording changed a decision");
    }
    on.rests();
    assert!(meters.take().assumed > 0, "the meter was on");
    quartets
}

/// A scheduler without an API: pods come and go by hand.
struct Stepped {
    scheduler: Scheduler,
    class: schedlab_core::ids::ClassId,
    uids: u64,
    hash: u64,
}

impl Stepped {
    /// As many as the runtime steps between two looks at the watch.
    const STEPS: usize = 128;
    const ROUNDS_PER_SAMPLE: usize = 4;

    fn new(size: Size) -> Stepped {
        let settings = EngineSettings { seed: SEED, ..EngineSettings::default() };
        let mut scheduler = Scheduler::new(settings, 0);
        for node in warm_nodes(size.node_count) {
            scheduler.on_event(ObjectEvent::node(&Arc::new(node)), 0);
        }
        let class = scheduler.compile(&Arc::new(PodKind::Plain.spec()));
        let mut stepped = Stepped { scheduler, class, uids: 0, hash: 0 };
        // The first rounds fill the class cache.
        for _ in 0..4 {
            stepped.round(&mut NoRecorder);
        }
        stepped
    }

    /// Nanoseconds per cycle, rounds of the runtime's length; the pods leave again off the clock.
    fn round<R: CycleRecorder>(&mut self, recorder: &mut R) -> f64 {
        let mut spent = Duration::ZERO;
        let mut calls = Vec::new();
        for _ in 0..Self::ROUNDS_PER_SAMPLE {
            let first = self.uids + 1;
            let now_ns = monotonic_ns();
            for _ in 0..Self::STEPS {
                self.uids += 1;
                let update = PodUpdate {
                    uid: PodUid(self.uids),
                    class: self.class,
                    created_ns: now_ns,
                    ..PodUpdate::default()
                };
                self.scheduler.on_event(ObjectEvent::pod(update), now_ns);
            }
            let start = Instant::now();
            recorder.round_begins();
            while let ScheduleOneOutcome::Assumed { pod, choice } = self.scheduler.schedule_one(recorder) {
                let scheduler = &self.scheduler;
                recorder.cycle_ended(CycleOutcome::Assumed { evaluated: 1 }, || CyclePod {
                    queued_ns: scheduler.world().pods().get(pod).queued_ns,
                    profile: scheduler.profile_number(pod),
                });
                self.hash = self.hash.rotate_left(5) ^ choice.row as u64;
            }
            spent += start.elapsed();
            self.scheduler.take_calls(&mut calls);
            assert_eq!(calls.len(), Self::STEPS, "every pod found a node");
            calls.clear();
            for uid in first..=self.uids {
                self.scheduler.on_event(ObjectEvent::pod_deleted(PodUid(uid)), now_ns);
            }
        }
        #[allow(clippy::cast_precision_loss, reason = "a sample lasts milliseconds")]
        let per_cycle = spent.as_nanos() as f64 / (Self::STEPS * Self::ROUNDS_PER_SAMPLE) as f64;
        per_cycle
    }
}

#[derive(Default)]
struct Runs {
    wall: Quartets,
    cpu: Quartets,
}

/// Bursts of pods with the meters on and off, in turns, until the clusters are full.
fn compare_runs(size: Size) -> Runs {
    let mut runs = Runs::default();
    for turn in 0..size.runs {
        let meters = Meters::default();
        let quartets = (size.pod_count / size.burst / 4) as usize;
        let mut recorded = Filled::new(size, meters.recorders());
        for _ in 0..quartets {
            let times = [true, false, false, true].map(|is_on| {
                if is_on {
                    meters.switch.turn_on()
                } else {
                    meters.switch.turn_off()
                }
                recorded.burst(size.burst)
            });
            runs.wall.0.push(times.map(|(wall_s, _)| wall_s));
            runs.cpu.0.push(times.map(|(_, cpu_s)| cpu_s));
        }
        let hash = recorded.stop();
        let timed = quartets as u64 * 2 * u64::from(size.burst);
        assert_eq!(meters.take().assumed, timed, "every cycle of a recorded burst was counted");
        // The first is held against a run that knows no recorder.
        if turn == 0 {
            let mut plain = Filled::new(size, (NoRecorder, NoRecorder));
            (0..quartets * 4).for_each(|_| {
                plain.burst(size.burst);
            });
            assert_eq!(plain.stop(), hash, "recording changed a placement");
        }
    }
    runs
}

/// A cluster that is being filled.
struct Filled<C: CycleRecorder + 'static, B: BindRecorder + 'static> {
    cluster: Arc<EmbeddedCluster>,
    template: PodTemplateRef,
    runtime: WallRuntime<C, B>,
    pods: usize,
}

impl<C: CycleRecorder + 'static, B: BindRecorder + 'static> Filled<C, B> {
    fn new(size: Size, recorders: (C, B)) -> Filled<C, B> {
        let cluster = Arc::new(EmbeddedCluster::new(Arc::new(monotonic_ns)));
        for index in 0..size.node_count {
            cluster.create(Object::Node(Box::new(node(index)))).expect("the node is new");
        }
        let template = cluster.pod_template(pod(), "default").expect("the pod is well formed");
        let settings =
            EngineSettings { ways: Ways::Measured(monotonic_ns), seed: SEED, ..Default::default() };
        let wall = WallSettings { threads: 2, link: LinkSettings::default() };
        let api: Arc<dyn Api> = Arc::clone(&cluster) as Arc<dyn Api>;
        let mut scheduler = Scheduler::new(settings, 0);
        scheduler.time_plugins(monotonic_ns);
        let runtime = WallRuntime::start(api, scheduler, 0, wall, recorders).expect("threads are to be had");
        let mut filled = Filled { cluster, template, runtime, pods: 0 };
        filled.settle();
        // Class cache and memory are warm from the second burst on.
        filled.burst(size.burst);
        filled
    }

    fn settle(&mut self) {
        while !self.runtime.is_quiescent(self.cluster.resource_version()) {
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Wall and CPU seconds until so many pods more are bound.
    fn burst(&mut self, pods: u32) -> (f64, f64) {
        let (start, start_cpu_s) = (Instant::now(), cpu_s());
        self.cluster.create_pods(&self.template, pods).expect("the namespace is there");
        self.settle();
        self.pods += pods as usize;
        (start.elapsed().as_secs_f64(), cpu_s() - start_cpu_s)
    }

    /// A hash of which pod is where.
    fn stop(self) -> u64 {
        let filter = PodFilter { namespace: Some("default"), labels: None };
        let rows = self.cluster.pods_in(filter).expect("listed").rows;
        assert_eq!(rows.len(), self.pods);
        self.runtime.stop().expect("the threads end well");
        rows.iter().fold(0, |hash: u64, row| {
            let node = row.node.expect("every pod was scheduled");
            hash.wrapping_add(row.uid.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ node.index() as u64)
        })
    }
}

/// Seconds that the threads alive now have had a core. 0 where the kernel does not say.
fn cpu_s() -> f64 {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0.0 };
    let on_core_ns = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    };
    tasks.flatten().filter_map(on_core_ns).sum::<f64>() / 1e9
}

fn node(index: usize) -> Node {
    let capacity = json!({"pods": "110", "cpu": "4", "memory": "32Gi"});
    let node = json!({
        "metadata": {"name": format!("node-{index:06}")},
        "status": {"capacity": capacity.clone(), "allocatable": capacity},
    });
    serde_json::from_value(node).expect("the node is well formed")
}

fn pod() -> Pod {
    let pod = json!({
        "metadata": {"generateName": "pod-"},
        "spec": {"containers": [{
            "name": "pause",
            "image": "registry.k8s.io/pause",
            "resources": {"requests": {"cpu": "100m", "memory": "500Mi"}},
        }]},
    });
    serde_json::from_value(pod).expect("the pod is well formed")
}
