use std::collections::BTreeMap;

use schedlab_workloads::results::{
    Attempts, LatencySummary, Machine, Memory, Pods, Repeats, RunResult, RunTotal, SCHEMA, Stage, Status,
    Throughput, WorkloadResult,
};

use super::*;
use crate::stats::testing::Sampler;

pub(crate) fn workload(name: &str, rates: &[f64]) -> WorkloadResult {
    let run = |&total: &f64| RunTotal {
        throughput: Throughput { total, average: total, ..Throughput::default() },
        duration_ms: 1e6 / total,
        scheduled: 1000,
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
        status: Status::Completed,
        message: None,
        nodes: 100,
        pods: Pods { created: 1000, scheduled: 1000, unschedulable: 0 },
        duration_ms: 1e6 / rates[0],
        throughput: runs[rates.len() / 2].throughput,
        window_ms: 1.0,
        samples: Vec::new(),
        attempts: Attempts { total: 1000, per_s: rates[0] },
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
        execution: None,
        repeats: Repeats::from_runs(runs),
        seed: 0,
        source: String::new(),
    };
    result.slo = schedlab_workloads::results::slo::evaluate(&result);
    result
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
        started_at: started_at.to_owned(),
        duration_s: 1.0,
        partial: false,
        coverage: "core + queue + embedded API".to_owned(),
        skipped: Vec::new(),
        workloads,
        figures: Vec::new(),
    }
}

fn side(name: &str, workloads: Vec<WorkloadResult>) -> Side {
    Side { name: name.to_owned(), runs: vec![run("2026-11-15T12:00:00Z", workloads)] }
}

fn rates(seed: u64, rate: f64, count: usize) -> Vec<f64> {
    Sampler::new(seed).many(count, |s| s.normal(rate, rate * 0.005))
}

fn throughput_row(base: WorkloadResult, head: WorkloadResult) -> Row {
    let comparison = compare_sides(&side("a", vec![base]), &side("b", vec![head]), &Fences::default(), 1);
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
    stuck.status = Status::Stuck;
    stuck.message = Some("5 pods wait".to_owned());
    assert_eq!(throughput_row(base, stuck).note.as_deref(), Some("not comparable: 5 pods wait"));
}

#[test]
fn one_regression_outweighs_and_what_is_on_one_side_is_named() {
    let good = || workload("T/Good", &rates(1, 1000.0, 12));
    let base = side("a", vec![good(), workload("T/Bad", &rates(3, 1000.0, 12)), workload("T/Old", &[1.0])]);
    let head = side("b", vec![good(), workload("T/Bad", &rates(4, 800.0, 12)), workload("T/New", &[1.0])]);
    let comparison = compare_sides(&base, &head, &Fences::default(), 1);
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
    let xml = junit(&comparison);
    assert!(xml.contains("tests=\"2\" failures=\"1\""), "{xml}");
    assert!(xml.contains("type=\"regression\""), "{xml}");
}

#[test]
fn a_fence_of_the_history_keeps_a_noisy_workload_quiet() {
    let base = side("a", vec![workload("T/W", &rates(1, 1000.0, 12))]);
    let head = side("b", vec![workload("T/W", &rates(2, 950.0, 12))]);
    let verdict = |fences: &Fences| compare_sides(&base, &head, fences, 1).verdict;
    assert_eq!(verdict(&Fences::default()), Verdict::Worse);
    let noisy: Vec<f64> = (0..40).map(|i| (f64::from(i) / 200.0 - 0.1).exp()).collect();
    let fence = crate::stats::Fence::from_ratios(&noisy, 0.01).expect("forty");
    let fences = Fences { by_workload: BTreeMap::from([("T/W".to_owned(), fence)]), ..Fences::default() };
    assert_eq!(verdict(&fences), Verdict::Unchanged);
}

#[test]
fn sides_that_differ_in_more_than_code_say_so() {
    let base = side("a", vec![workload("T/W", &[1.0])]);
    let mut head = base.clone();
    head.runs[0].machine.cores = 36;
    head.runs[0].seed = 9;
    let notes = compare_sides(&base, &head, &Fences::default(), 1).notes;
    assert_eq!(notes[0], "machine differs: Test CPU with 2 cores and Test CPU with 36 cores");
    assert_eq!(notes[1], "seed differs: 0 and 9");
}

#[test]
fn text_that_is_markup_stays_text() {
    let mut comparison = Comparison::new("t", "a", "b", Vec::new());
    assert_eq!(comparison.verdict, Verdict::Inconclusive, "nothing compared is no verdict");
    let fence = crate::stats::Fence::given(0.01);
    let row = Row::exact("a<b>|\"&\u{1}", Metric::cost("x", "n"), 1.0, 2.0, fence);
    comparison.rows.push(row);
    assert!(junit(&comparison).contains("name=\"a&lt;b&gt;|&quot;&amp; \""));
    assert!(markdown(&comparison).contains("a<b>\\|\"&"));
}

#[test]
fn a_change_that_the_rank_test_doubts_is_an_open_question() {
    let rates = |rate: f64, count: u32| (0..count).map(|i| rate + f64::from(i)).collect::<Vec<_>>();
    let row = |count: u32| {
        let (base, head) = (rates(1000.0, count), rates(900.0, count));
        let fence = crate::stats::Fence::given(0.02);
        Row::from_samples("T/W", Metric::throughput(), (&base, &head), Pairing::Rounds, fence, 1)
            .needing_p_below(0.01)
    };
    // Seven rounds, all slower, happen by chance once in 64: not rare enough. Eight, once in 128.
    let few = row(14);
    assert_eq!((few.verdict, few.more_needed), (Verdict::Inconclusive, Some(14)));
    assert_eq!(row(16).verdict, Verdict::Worse);
}
