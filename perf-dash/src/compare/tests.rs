use std::collections::BTreeMap;

use schedlab_workloads::metrics::{HistogramSummary, MetricSeries, MetricValue};
use schedlab_workloads::results::{
    Attempts, LatencySummary, Machine, Memory, Pods, Repeats, RunLatency, RunResult, RunStatus, RunTotal,
    SCHEMA, Stage, Throughput, WorkloadResult,
};

use super::*;
use crate::history::Record;
use crate::stats::testing::Sampler;

pub(crate) fn workload(name: &str, rates: &[f64]) -> WorkloadResult {
    let run = |&total: &f64| RunTotal {
        pods_per_s: total,
        duration_ms: 1e6 / total,
        scheduled: 1000,
        ..RunTotal::default()
    };
    let runs: Vec<RunTotal> = rates.iter().map(run).collect();
    let latency = |us: f64| LatencySummary {
        count: 1000,
        mean: us,
        p50: us,
        p90: us * 1.5,
        p95: us * 1.8,
        p99: us * 2.0,
        max: us * 3.0,
        buckets: Vec::new(),
    };
    let mut result = WorkloadResult {
        name: name.to_owned(),
        suite: "quick".to_owned(),
        collector: Some("namespace-2".to_owned()),
        labels: Vec::new(),
        feature_gates: BTreeMap::new(),
        gates_without_effect: Vec::new(),
        status: RunStatus::Completed,
        message: None,
        nodes: 100,
        pods: Pods { created: 1000, scheduled: 1000, unschedulable: 0 },
        duration_ms: 1e6 / rates[0],
        throughput: Throughput::of_runs(rates),
        normalised: None,
        warnings: Vec::new(),
        conditions: None,
        window_ms: 1.0,
        samples: Vec::new(),
        attempts: Attempts { total: 1000, per_s: rates[0] },
        metrics: Vec::new(),
        metrics_collected: vec![
            collected("scheduler_pod_scheduling_sli_duration_seconds", None, 900.0),
            collected("scheduler_framework_extension_point_duration_seconds", Some("Filter"), 0.4),
        ],
        latency_us: BTreeMap::from([
            (Stage::SchedulingCycle, latency(1.2)),
            (Stage::EndToEnd, latency(900.0)),
            (Stage::Filter, latency(0.4)),
        ]),
        api_calls: BTreeMap::from([("POST pods/binding".to_owned(), 1000)]),
        api_calls_per_pod: BTreeMap::from([("POST pods/binding".to_owned(), 1.0)]),
        memory: Memory { peak_rss_bytes: None, bytes_per_node: Some(400.0), bytes_per_pod: Some(120.0) },
        slo: Vec::new(),
        threshold: None,
        controllers: Vec::new(),
        extenders: Vec::new(),
        under_test: None,
        repeats: Repeats::from_runs(runs),
        change: None,
        content: None,
        seed: 0,
        source: String::new(),
    };
    result.slo = schedlab_workloads::results::slo::evaluate(&result);
    result
}

/// A duration as a test case collects it, of an extension point or not.
fn collected(name: &str, point: Option<&str>, us: f64) -> MetricSeries {
    let s = us / 1e6;
    let (p90, p95, p99) = (s * 1.5, s * 1.8, s * 2.0);
    let summary = HistogramSummary { count: 1000, sum: s * 1000.0, mean: s, p50: s, p90, p95, p99 };
    MetricSeries {
        name: name.to_owned(),
        labels: point.map(|point| ("extension_point".to_owned(), point.to_owned())).into_iter().collect(),
        value: MetricValue::Histogram(summary),
    }
}

pub(crate) fn run(started_at: &str, workloads: Vec<WorkloadResult>) -> RunResult {
    RunResult {
        schema: SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        git_revision: Some("abcdef012345".to_owned()),
        machine: Machine {
            os: "linux".to_owned(),
            arch: "amd64".to_owned(),
            cpu_model: "Test CPU".to_owned(),
            cores: 2,
            memory_bytes: 1 << 34,
        },
        threads: 2,
        parallelism: 16,
        seed: 0,
        percentage_of_nodes_to_score: 0,
        repeat: 1,
        feature_gates: BTreeMap::new(),
        options: BTreeMap::new(),
        started_at: started_at.to_owned(),
        duration_s: 1.0,
        partial: false,
        coverage: "core + queue + embedded API".to_owned(),
        skipped: Vec::new(),
        workloads,
        figures: Vec::new(),
    }
}

fn side_of(name: &str, run: &RunResult) -> Side {
    Side { name: name.to_owned(), records: vec![Record::from_run(run, None, Vec::new())] }
}

fn side(name: &str, workloads: Vec<WorkloadResult>) -> Side {
    side_of(name, &run("2026-11-15T12:00:00Z", workloads))
}

fn compared(base: &Side, head: &Side) -> Comparison {
    compare_sides(base, head, &Fences::default(), Missing::Open, 1)
}

fn rates(seed: u64, rate: f64, count: usize) -> Vec<f64> {
    Sampler::new(seed).many(count, |s| s.normal(rate, rate * 0.005))
}

fn throughput_row(base: WorkloadResult, head: WorkloadResult) -> Row {
    let comparison = compared(&side("a", vec![base]), &side("b", vec![head]));
    comparison.rows.into_iter().find(|row| row.metric.name == "throughput").expect("both have it")
}

#[test]
fn verdicts_follow_the_samples() {
    let cases = [
        ("a tenth slower", 900.0, 12, Verdict::Worse),
        ("a tenth faster", 1100.0, 12, Verdict::Better),
        ("the same", 1000.0, 12, Verdict::Unchanged),
        ("a tenth slower, but two samples", 900.0, 2, Verdict::Inconclusive),
    ];
    for (name, rate, count, wanted) in cases {
        let row = throughput_row(
            workload("T/W", &rates(1, 1000.0, count)),
            workload("T/W", &rates(2, rate, count)),
        );
        assert_eq!(row.verdict, wanted, "case: {name}: {row:?}");
        assert_eq!(row.more_needed.is_some(), wanted == Verdict::Inconclusive, "case: {name}");
    }
}

#[test]
fn different_work_is_never_judged() {
    let base = workload("T/W", &rates(1, 1000.0, 12));
    let mut fewer = workload("T/W", &rates(2, 2000.0, 12));
    fewer.pods.scheduled = 500;
    let row = throughput_row(base.clone(), fewer);
    assert_eq!(row.verdict, Verdict::Inconclusive);
    assert!(row.note.expect("a reason").contains("1000 pods were bound in one run and 500"));
    let mut stuck = workload("T/W", &rates(2, 2000.0, 12));
    stuck.status = RunStatus::Stuck;
    stuck.message = Some("5 pods wait".to_owned());
    assert_eq!(throughput_row(base, stuck).note.as_deref(), Some("not comparable: 5 pods wait"));
}

#[test]
fn one_regression_makes_the_comparison_worse_and_unmatched_workloads_are_named() {
    let good = || workload("T/Good", &rates(1, 1000.0, 12));
    let base = side("a", vec![good(), workload("T/Bad", &rates(3, 1000.0, 12)), workload("T/Old", &[1.0])]);
    let head = side("b", vec![good(), workload("T/Bad", &rates(4, 800.0, 12)), workload("T/New", &[1.0])]);
    let comparison = compared(&base, &head);
    assert_eq!(comparison.verdict, Verdict::Worse);
    assert_eq!(comparison.unmatched, ["T/Old (base only)", "T/New (head only)"]);
    let geomean = comparison.geomean("throughput").expect("two rows");
    assert!((geomean - 0.8_f64.sqrt()).abs() < 0.01, "{geomean}");
    let text = markdown(&comparison);
    assert!(
        text.starts_with("### schedlab compare: worse (0 better, 1 worse, 1 unchanged, 0 inconclusive)"),
        "{text}"
    );
    assert!(text.contains("| T/Bad | throughput (pods/s) | "), "{text}");
    let xml = junit(std::slice::from_ref(&comparison)).unwrap();
    let read = quick_junit::Report::deserialize_from_str(&xml).unwrap();
    assert_eq!((read.tests, read.failures), (4, 1), "two rows, and two that one side lacks: {xml}");
    assert!(xml.contains("type=\"regression\""), "{xml}");
}

#[test]
fn noise_threshold_of_history_makes_noisy_workload_unchanged() {
    let base = side("a", vec![workload("T/W", &rates(1, 1000.0, 12))]);
    let head = side("b", vec![workload("T/W", &rates(2, 950.0, 12))]);
    let verdict = |fences: &Fences| compare_sides(&base, &head, fences, Missing::Open, 1).verdict;
    assert_eq!(verdict(&Fences::default()), Verdict::Worse);
    let noisy: Vec<f64> = (0..40).map(|i| (f64::from(i) / 200.0 - 0.1).exp()).collect();
    let fence = crate::stats::Fence::from_ratios(&noisy, 0.01).expect("forty");
    let fences = Fences { by_workload: BTreeMap::from([("T/W".to_owned(), fence)]), ..Fences::default() };
    assert_eq!(verdict(&fences), Verdict::Unchanged);
}

#[test]
fn differing_machine_and_seed_are_noted() {
    let mut measured = run("2026-11-15T12:00:00Z", vec![workload("T/W", &[1.0])]);
    let base = side_of("a", &measured);
    measured.machine.cores = 36;
    measured.seed = 9;
    let notes = compared(&base, &side_of("b", &measured)).notes;
    assert_eq!(notes[0], "machine differs: Test CPU with 2 cores and Test CPU with 36 cores");
    assert_eq!(notes[1], "seed differs: 0 and 9");
}

#[test]
fn text_that_is_markup_stays_text() {
    let mut comparison = Comparison::new("t", "a", "b", Vec::new());
    assert_eq!(comparison.verdict, Verdict::Inconclusive, "nothing compared is no verdict");
    let fence = crate::stats::Fence::given(0.01);
    let row = Row::exact("a<b>|\"&\u{1}", ComparedMetric::cost("x", "n"), 1.0, 2.0, fence);
    comparison.rows.push(row);
    let xml = junit(&[comparison.clone(), comparison.clone()]).unwrap();
    let read = quick_junit::Report::deserialize_from_str(&xml).unwrap();
    assert_eq!((read.test_suites.len(), read.tests), (2, 2), "{xml}");
    assert_eq!(read.test_suites[1].test_cases[0].name.as_str(), "a<b>|\"&");
    comparison.notes.push("<img src=x>".to_owned());
    comparison.unmatched.push("<b>|x".to_owned());
    comparison.base = "a`<i>".to_owned();
    let text = markdown(&comparison);
    assert!(text.contains("a&lt;b&gt;\\|\"&amp;"), "{text}");
    assert!(text.contains("- &lt;img src=x&gt;") && text.contains("&lt;b&gt;\\|x"), "{text}");
    assert!(text.contains("`a'<i>` (base)"), "{text}");
}

#[test]
fn change_not_confirmed_by_rank_test_is_inconclusive() {
    let rates = |rate: f64, count: u32| (0..count).map(|i| rate + f64::from(i)).collect::<Vec<_>>();
    let row = |count: u32| {
        let (base, head) = (rates(1000.0, count), rates(900.0, count));
        let fence = crate::stats::Fence::given(0.02);
        Row::from_samples("T/W", ComparedMetric::throughput(), (&base, &head), Pairing::Rounds, fence, 1)
            .needing_p_below(0.01)
    };
    // Seven rounds, all slower, happen by chance once in 64: not rare enough. Eight, once in 128.
    let few = row(14);
    assert_eq!((few.verdict, few.more_needed), (Verdict::Inconclusive, Some(14)));
    assert_eq!(row(16).verdict, Verdict::Worse);
}

#[test]
fn a_side_with_itself_is_unchanged_because_it_is_identical_input() {
    for (name, rates) in [("one run", vec![1000.0]), ("noisy repeats", vec![500.0, 1000.0, 2000.0, 700.0])] {
        let x = side("x", vec![workload("T/W", &rates)]);
        let comparison = compared(&x, &x.clone());
        assert_eq!(comparison.verdict, Verdict::Unchanged, "case: {name}");
        assert_eq!(comparison.notes, ["identical input: both sides are the same measurements"], "{name}");
        for row in comparison.rows.iter().filter(|row| row.is_judged()) {
            assert_eq!(row.verdict, Verdict::Unchanged, "case: {name}: {row:?}");
            assert_eq!(row.note.as_deref(), Some("identical input"), "case: {name}");
        }
    }
    // Another run with the same numbers is not the same measurement.
    let one = side_of("a", &run("2026-11-15T12:00:00Z", vec![workload("T/W", &[1000.0])]));
    let other = side_of("b", &run("2026-11-15T13:00:00Z", vec![workload("T/W", &[1000.0])]));
    assert_eq!(compared(&one, &other).verdict, Verdict::Inconclusive);
}

#[test]
fn workload_missing_on_one_side_is_neither_unchanged_nor_better() {
    let same = |seed| workload("T/Same", &rates(seed, 1000.0, 12));
    let faster = |seed| workload("T/Same", &rates(seed, 1200.0, 12));
    let more = || workload("T/More", &[1.0]);
    struct Case {
        name: &'static str,
        base: Vec<WorkloadResult>,
        head: Vec<WorkloadResult>,
        /// With everything counted, and with what is missing ignored.
        wanted: [Verdict; 2],
    }
    use Verdict::{Better, Inconclusive, Unchanged, Worse};
    let cases = [
        Case {
            name: "missing in head",
            base: vec![same(1), more()],
            head: vec![same(2)],
            wanted: [Inconclusive, Unchanged],
        },
        Case {
            name: "missing in base",
            base: vec![same(1)],
            head: vec![same(2), more()],
            wanted: [Inconclusive, Unchanged],
        },
        Case {
            name: "the rest is better",
            base: vec![same(1), more()],
            head: vec![faster(2)],
            wanted: [Inconclusive, Better],
        },
        Case {
            name: "the rest is worse",
            base: vec![faster(1), more()],
            head: vec![same(2)],
            wanted: [Worse, Worse],
        },
        Case { name: "all there", base: vec![same(1)], head: vec![same(2)], wanted: [Unchanged, Unchanged] },
    ];
    for case in cases {
        let (base, head) = (side("a", case.base), side("b", case.head));
        let verdict = |missing| compare_sides(&base, &head, &Fences::default(), missing, 1);
        let got = [Missing::Open, Missing::Ignored].map(|missing| verdict(missing).verdict);
        assert_eq!(got, case.wanted, "case: {}", case.name);
        let says =
            verdict(Missing::Open).notes[0] == "inconclusive as a whole: 1 workload(s) are on one side only";
        assert_eq!(says, case.wanted[0] == Inconclusive, "case: {}", case.name);
    }
}

#[test]
fn interrupted_run_makes_the_comparison_inconclusive() {
    let mut measured = run("2026-11-15T12:00:00Z", vec![workload("T/W", &rates(1, 1000.0, 12))]);
    let whole = side_of("a", &measured);
    measured.partial = true;
    let partial = side_of("b", &measured);
    for (base, head, which) in [(&whole, &partial, "head"), (&partial, &whole, "base")] {
        let comparison = compared(base, head);
        assert_eq!(comparison.verdict, Verdict::Inconclusive);
        assert_eq!(
            comparison.notes[0],
            format!("inconclusive as a whole: 1 run(s) of {which} were interrupted")
        );
    }
}

#[test]
fn partial_run_against_its_own_copy_is_not_unchanged() {
    let mut measured = run("2026-11-15T12:00:00Z", vec![workload("T/W", &rates(1, 1000.0, 12))]);
    measured.partial = true;
    measured.workloads[0].status = RunStatus::Partial;
    let comparison = compared(&side_of("a", &measured), &side_of("b", &measured));
    assert_eq!(comparison.verdict, Verdict::Inconclusive);
    assert!(comparison.rows.iter().filter(|row| row.counts()).all(|row| row.verdict != Verdict::Unchanged));
}

#[test]
fn workload_missing_from_head_is_skipped_in_junit() {
    let base = side("a", vec![workload("T/W", &rates(1, 1000.0, 12)), workload("T/X", &rates(1, 10.0, 12))]);
    let head = side("b", vec![workload("T/W", &rates(2, 1000.0, 12))]);
    let text = junit(&[compared(&base, &head)]).unwrap();
    assert!(text.contains("name=\"T/X (base only)\""), "{text}");
    assert!(text.contains("name=\"the whole comparison\""), "{text}");
    assert!(text.contains("skipped=\"2\""), "{text}");
    let whole = junit(&[compared(&base, &base)]).unwrap();
    assert!(whole.contains("skipped=\"0\""), "{whole}");
}

#[test]
fn interrupted_measurement_is_inconclusive_unless_worse() {
    let with = |verdict| {
        let comparison = compared(
            &side("a", vec![workload("T/W", &rates(1, 1000.0, 12))]),
            &side("b", vec![workload("T/W", &rates(2, 1000.0, 12))]),
        );
        Comparison { verdict, ..comparison }.cut_short()
    };
    assert_eq!(with(Verdict::Unchanged).verdict, Verdict::Inconclusive);
    assert_eq!(with(Verdict::Better).verdict, Verdict::Inconclusive);
    assert_eq!(with(Verdict::Worse).verdict, Verdict::Worse);
    assert!(with(Verdict::Worse).notes[0].starts_with("PARTIAL"));
}

#[test]
fn other_node_counts_are_other_work() {
    let base = workload("T/W", &rates(1, 1000.0, 12));
    let mut head = workload("T/W", &rates(2, 1000.0, 12));
    head.nodes = 200;
    let comparison = compared(&side("a", vec![base]), &side("b", vec![head]));
    assert_eq!(comparison.verdict, Verdict::Inconclusive);
    let note = "not comparable: 100 nodes in one run and 200 in another";
    assert!(
        comparison.rows.iter().filter(|row| row.is_judged()).all(|row| row.note.as_deref() == Some(note))
    );
}

/// A side whose repeats have these end-to-end p99s.
fn with_p99(name: &str, seed: u64, p99_us: &[f64]) -> Side {
    let mut side = side(name, vec![workload("T/W", &rates(seed, 1000.0, p99_us.len()))]);
    let repeat = |&p99: &f64| RunLatency { mean: 900.0, p50: 900.0, p99 };
    let repeats = p99_us.iter().map(repeat).collect();
    side.records[0].points[0].repeat_latency_us.insert(Stage::EndToEnd, repeats);
    side
}

#[test]
fn latencies_of_repeats_are_judged() {
    let p99 = |seed, us: f64, spread: f64| Sampler::new(seed).many(12, |s| s.normal(us, us * spread));
    let cases = [
        ("half as long again", p99(3, 1500.0, 0.01), Verdict::Worse, Verdict::Worse),
        ("a third less", p99(3, 660.0, 0.01), Verdict::Better, Verdict::Better),
        ("the same", p99(3, 1000.0, 0.01), Verdict::Unchanged, Verdict::Unchanged),
        // A tail that scatters is open, and does not open the throughput's verdict.
        ("too noisy to say", p99(3, 1050.0, 0.3), Verdict::Inconclusive, Verdict::Unchanged),
    ];
    let base = with_p99("a", 1, &p99(4, 1000.0, 0.01));
    for (name, head, of_row, of_whole) in cases {
        let comparison = compared(&base, &with_p99("b", 2, &head));
        let row =
            comparison.rows.iter().find(|row| row.metric.name == "end to end p99").expect("it is there");
        assert_eq!((row.base_samples, row.head_samples), (12, 12), "case: {name}");
        assert_eq!((row.verdict, comparison.verdict), (of_row, of_whole), "case: {name}: {row:?}");
    }
}

#[test]
fn one_latency_a_side_is_shown_and_not_judged() {
    let comparison = compared(
        &side("a", vec![workload("T/W", &rates(1, 1000.0, 12))]),
        &side("b", vec![workload("T/W", &rates(2, 1000.0, 12))]),
    );
    let latencies: Vec<&Row> = comparison.rows.iter().filter(|row| row.metric.unit == "µs").collect();
    assert_eq!(latencies.len(), 3);
    assert!(latencies.iter().all(|row| !row.is_judged() && row.base_samples == 1), "{latencies:?}");
}

/// A directory of its own, removed at the end.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("schedlab-compare-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, content: &str) -> std::path::PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// As scheduler_perf prints it with `-count=8`, with its log in between.
fn upstream_bench_text(rate: f64) -> String {
    let mut text =
        "goos: linux\ngoarch: amd64\npkg: k8s.io/kubernetes/test/integration/scheduler_perf/misc\n\
                    cpu: Test CPU\n"
            .to_owned();
    for turn in 0..8 {
        text.push_str("BenchmarkPerfScheduling/T/W-6  \t");
        if turn == 3 {
            text.push_str("I1115 12:00:00.000000 1 log.go:1] \"Started\"\nmore log: of two words\n        ");
        }
        text.push_str(&format!(
            "1\t{} SchedulingThroughput/Average\t{} scheduler_pod_scheduling_sli_duration_ms/Perc99\t\
             3 scheduler_framework_extension_point_duration_ms/Perc99\t60.1 runtime_seconds\n",
            rate + f64::from(turn),
            20.0 + f64::from(turn) / 10.0
        ));
    }
    text.push_str("PASS\nok  \tk8s.io/kubernetes/test/integration/scheduler_perf/misc\t500.1s\n");
    text
}

#[test]
fn upstream_bench_text_is_a_side() {
    let folder = Folder::new("bench");
    let base = load_side(&folder.file("base.txt", &upstream_bench_text(300.0))).unwrap();
    let head = load_side(&folder.file("head.txt", &upstream_bench_text(200.0))).unwrap();
    let comparison = compared(&base, &head);
    assert_eq!(comparison.verdict, Verdict::Worse, "{:?}", comparison.rows);
    let row = &comparison.rows[0];
    assert_eq!((row.workload.as_str(), row.base, row.base_samples), ("T/W", Some(303.5), 8));
    let p99 = comparison.rows.iter().find(|row| row.metric.name == "end to end p99").expect("it is there");
    assert_eq!((p99.base, p99.base_samples, p99.verdict), (Some(20_350.0), 8, Verdict::Unchanged));
}

#[test]
fn upstream_against_ours_is_shown_and_never_judged() {
    let folder = Folder::new("mixed");
    let upstream = load_side(&folder.file("bench.txt", &upstream_bench_text(300.0))).unwrap();
    let ours = side("ours", vec![workload("T/W", &rates(1, 900_000.0, 12))]);
    let comparison = compared(&upstream, &ours);
    assert_eq!(comparison.verdict, Verdict::Inconclusive);
    let row = &comparison.rows[0];
    assert!(row.ratio.is_some_and(|ratio| (2900.0..3100.0).contains(&ratio.ratio)), "{row:?}");
    assert_eq!(
        row.note.as_deref(),
        Some(
            "not like for like: base covers scheduler + apiserver + etcd, by scheduler_perf, \
             head covers core + queue + embedded API"
        )
    );
    let notes = comparison.notes.join("\n");
    assert!(notes.contains("the throughput's definition differs"), "{notes}");
    assert!(notes.contains("do not say how they were measured"), "{notes}");
    assert!(notes.contains("machine differs: Test CPU with 6 cores and Test CPU with 2 cores"), "{notes}");
}

#[test]
fn all_files_of_a_run_name_the_same_side() {
    use schedlab_workloads::results::{write_bench_text, write_data_items, write_result_json};
    let folder = Folder::new("kinds");
    let measured = run("2026-11-15T12:00:00Z", vec![workload("T/W", &rates(1, 1000.0, 12))]);
    let dir = folder.0.join("run");
    write_result_json(&dir.join("result.json"), &measured).unwrap();
    let items = write_data_items(&dir, &measured).unwrap();
    write_bench_text(&dir.join("bench.txt"), &measured).unwrap();
    // Of a run's directory, the result alone is read.
    assert_eq!(load_side(&dir).unwrap().records, load_side(&dir.join("result.json")).unwrap().records);
    for file in [&items[0], &dir.join("bench.txt")] {
        let side = load_side(file).unwrap();
        let record = &side.records[0];
        assert_eq!(record.source, crate::history::RecordSource::Schedlab, "{}", side.name);
        assert_eq!(record.coverage, measured.coverage, "{}", side.name);
        assert_eq!(record.points[0].name, "T/W");
        // The same coverage: it may be judged against a result.
        let comparison = compared(&load_side(&dir).unwrap(), &side);
        assert!(comparison.rows[0].note.is_none(), "{:?}", comparison.rows[0]);
    }
    // A directory without results: perf-dash JSON before bench text.
    std::fs::remove_file(dir.join("result.json")).unwrap();
    assert_eq!(load_side(&dir).unwrap().records, load_side(&items[0]).unwrap().records);
}

#[test]
fn a_file_of_another_kind_is_refused_by_name() {
    let folder = Folder::new("refused");
    let refused = |name: &str, content: &str| {
        let file = folder.file(name, content);
        load_side(&file).unwrap_err().to_string()
    };
    assert!(refused("a.json", "{}").contains("neither a schedlab-result/v1 result, nor perf-dash JSON"));
    assert!(refused("b.txt", "BenchmarkX-2 1 5 ns/op\n").contains("nor `go test -bench` text"));
    let no_rate = "BenchmarkPerfScheduling/T/W-2 1 5 SchedulingThroughput/Perc50\n";
    assert!(
        refused("c.txt", no_rate)
            .contains("none of its 1 benchmark line(s) has a SchedulingThroughput/Average")
    );
    assert!(refused("d.json", "{\"dataItems\": 5}").contains("not perf-dash JSON"));
    assert!(
        refused("e.json", "{\"schema\": \"schedlab-result/v9\"}")
            .contains("schema is \"schedlab-result/v9\"")
    );
    folder.file("empty/notes.md", "");
    let empty = load_side(&folder.0.join("empty")).unwrap_err().to_string();
    assert!(
        empty.contains("no schedlab-result/v1 file, no perf-dash JSON and no `go test -bench` text"),
        "{empty}"
    );
}

#[test]
fn a_paired_ratio_beside_medians_that_contradict_it_is_labelled() {
    // Head is faster in every round, and slower by its median: the machine slowed down meanwhile.
    let base: Vec<f64> = (0..24).map(|at| if at < 12 { 1000.0 } else { 500.0 } + f64::from(at)).collect();
    let head: Vec<f64> = base.iter().map(|rate| rate * 1.1).collect();
    let (base, head) = (&base[..22], &head[2..]);
    let fence = crate::stats::Fence::given(0.02);
    let row =
        |pairing| Row::from_samples("T/W", ComparedMetric::throughput(), (base, head), pairing, fence, 1);
    let (paired, unpaired) = (row(Pairing::Rounds), row(Pairing::Unpaired));
    assert!(paired.is_paired && !unpaired.is_paired);
    assert!(paired.head < paired.base, "{paired:?}");
    assert_eq!(paired.labelled_change(), format!("{} paired", paired.change()));
    assert!(paired.change().starts_with('+'), "{paired:?}");
    assert_eq!(unpaired.labelled_change(), unpaired.change());
    let text = |row: Row| markdown(&Comparison::new("t", "a", "b", vec![row]));
    assert!(text(paired.clone()).contains(PAIRED) && text(paired).contains("base, median"));
    assert!(!text(unpaired).contains("paired"));
}
