//! The page as bytes, and what must hold for every page.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use schedlab_workloads::results::{
    Attempts, Change, Changes, Compared, ComparedFigure, EarlierRun, Estimate, Figure, FigureMetric,
    FigureRow, FigureValue, LatencySummary, Machine, Memory, MetricSelector, Pods, Repeats, RunStatus,
    RunTotal, SCHEMA, Sample, Skipped, Stage, Throughput, Windows, slo, workload_items, write_atomic,
};

use super::*;

/// Characters that would break out of text, an attribute or a script.
const HOSTILE: &str = r#"<script>alert("x")</script> & 'y' </style>"#;

fn workload(name: &str) -> WorkloadResult {
    let sample = |i: u32| Sample { t_ms: f64::from(i) * 10.0, pods_per_s: 900.0 + 50.0 * f64::from(i) };
    let samples: Vec<Sample> = (1..=4).map(sample).collect();
    let latency = |p50: f64| LatencySummary {
        count: 40,
        mean: p50,
        p50,
        p90: p50 * 2.0,
        p95: p50 * 3.0,
        p99: p50 * 5.0,
        max: p50 * 9.0,
        buckets: Vec::new(),
    };
    let api_calls = BTreeMap::from([("POST pods/binding".to_owned(), 40)]);
    let mut workload = WorkloadResult {
        name: name.to_owned(),
        suite: "misc".to_owned(),
        collector: None,
        labels: vec!["short".to_owned()],
        feature_gates: BTreeMap::new(),
        gates_without_effect: Vec::new(),
        status: RunStatus::Completed,
        message: None,
        nodes: 500,
        pods: Pods { created: 40, scheduled: 40, unschedulable: 0 },
        duration_ms: 40.0,
        throughput: Throughput {
            windows: Windows::from_samples(&samples, 10.0),
            ..Throughput::of_runs(&[1000.0])
        },
        normalised: None,
        warnings: Vec::new(),
        conditions: None,
        window_ms: 10.0,
        samples,
        attempts: Attempts { total: 40, per_s: 1000.0 },
        metrics: Vec::new(),
        metrics_collected: Vec::new(),
        latency_us: BTreeMap::from([
            (Stage::EndToEnd, latency(900.0)),
            (Stage::SchedulingCycle, latency(20.0)),
            (Stage::Filter, latency(8.0)),
        ]),
        api_calls_per_pod: WorkloadResult::calls_per_pod(&api_calls, 40),
        api_calls,
        memory: Memory::default(),
        slo: Vec::new(),
        threshold: None,
        controllers: Vec::new(),
        extenders: Vec::new(),
        under_test: None,
        repeats: None,
        change: None,
        content: None,
        seed: 7,
        source: "- name: Case\n".to_owned(),
    };
    workload.threshold = Threshold::evaluate(500.0, MetricSelector::default(), &workload_items(&workload));
    workload.slo = slo::evaluate(&workload);
    workload
}

fn run(workloads: Vec<WorkloadResult>) -> RunResult {
    RunResult {
        schema: SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        git_revision: None,
        machine: Machine {
            os: "linux".to_owned(),
            arch: "amd64".to_owned(),
            cpu_model: "Example CPU".to_owned(),
            cores: 2,
            memory_bytes: 8_589_934_592,
        },
        threads: 2,
        parallelism: 16,
        seed: 7,
        percentage_of_nodes_to_score: 0,
        repeat: 1,
        feature_gates: BTreeMap::new(),
        options: BTreeMap::new(),
        started_at: "2026-11-15T12:30:45Z".to_owned(),
        duration_s: 0.5,
        partial: false,
        coverage: "core + queue + embedded API".to_owned(),
        skipped: Vec::new(),
        workloads,
        figures: Vec::new(),
    }
}

fn figure() -> Figure {
    let estimate = |value: f64| Estimate { value, low: value * 0.9, high: value * 1.1 };
    let row = |variant: &str, ratio: Option<f64>| FigureRow {
        point: vec![HOSTILE.to_owned()],
        variant: variant.to_owned(),
        runs: 8,
        values: BTreeMap::from([
            (
                FigureMetric::PatchCalls,
                FigureValue { median: estimate(1.0), extra: ratio.map(estimate), ratio: None },
            ),
            (
                FigureMetric::Throughput,
                FigureValue { median: estimate(900.0), extra: None, ratio: ratio.map(estimate) },
            ),
        ]),
    };
    Figure {
        name: "extra-patch".to_owned(),
        title: "Extra PATCH".to_owned(),
        about: HOSTILE.to_owned(),
        base: "never".to_owned(),
        axes: vec!["calls".to_owned()],
        metrics: vec![FigureMetric::PatchCalls, FigureMetric::Throughput],
        rounds: 4,
        rows: vec![row("never", None), row("always", Some(0.5))],
    }
}

#[test]
fn a_run_of_figures_shows_them_first_and_their_intervals() {
    let mut run = run(Vec::new());
    run.figures = vec![figure()];
    let page = render_html(&run);
    assert!(page.contains("1 figure: "), "the headline is about figures");
    assert!(page.contains("0.50") && page.contains("[0.45, 0.55]"), "a ratio with its interval");
    assert!(!page.contains("No workload ran"));
    assert!(!page.contains("<script>alert"), "names are escaped");
}

/// Every kind of thing a page can show, some of it hostile.
fn full_run() -> RunResult {
    let mut slow = workload("Case/Variant");
    slow.throughput = Throughput { windows: slow.throughput.windows, ..Throughput::of_runs(&[60.0, 64.0]) };
    slow.slo = slo::evaluate(&slow);
    let total =
        |total| RunTotal { pods_per_s: total, duration_ms: 40.0, scheduled: 40, ..RunTotal::default() };
    slow.repeats = Repeats::from_runs(vec![total(60.0), total(64.0)]);

    let mut hostile = workload(HOSTILE);
    hostile.status = RunStatus::Stuck;
    hostile.message = Some(HOSTILE.to_owned());
    hostile.suite = HOSTILE.to_owned();
    hostile.labels = vec![HOSTILE.to_owned()];
    hostile.source = HOSTILE.to_owned();
    hostile.feature_gates = BTreeMap::from([(HOSTILE.to_owned(), true)]);
    hostile.api_calls = BTreeMap::from([(HOSTILE.to_owned(), 1)]);

    let mut empty = workload("Case/Variant");
    empty.samples.clear();
    empty.latency_us.clear();
    empty.api_calls.clear();
    empty.api_calls_per_pod.clear();
    empty.attempts = Attempts::default();
    empty.pods = Pods::default();
    empty.throughput = Throughput::default();
    empty.status = RunStatus::Failed;
    empty.slo = slo::evaluate(&empty);
    empty.threshold = None;

    let mut run = run(vec![slow, hostile, empty]);
    run.partial = true;
    run.figures = vec![figure()];
    run.version = HOSTILE.to_owned();
    run.git_revision = Some(HOSTILE.to_owned());
    run.machine.cpu_model = HOSTILE.to_owned();
    run.started_at = HOSTILE.to_owned();
    run.coverage = HOSTILE.to_owned();
    run.skipped = vec![Skipped { name: HOSTILE.to_owned(), reason: HOSTILE.to_owned() }];
    run
}

/// Values of every attribute `name` in the page.
fn attributes<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let open = format!(" {name}=\"");
    page.split(&open).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn page_of_a_small_run_is_golden() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/report.html");
    let actual = render_html(&run(vec![workload("SchedulingBasic/500Nodes")]));
    // One tag a line: a change shows as the lines it touches.
    let actual = actual.replace("><", ">\n<");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return write_atomic(&path, actual.as_bytes()).expect("the golden directory can be written");
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(wanted == actual, "report.html differs; UPDATE_GOLDEN=1 rewrites it");
}

#[test]
fn page_loads_nothing_from_anywhere() {
    let page = render_html(&full_run());
    for outside in ["http://", "https://", "url(", "@import", " src=", "<link", "fetch(", "import("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(attributes(&page, "href").iter().all(|target| target.starts_with('#')));
}

#[test]
fn ids_are_unique_and_every_reference_has_its_target() {
    let page = render_html(&full_run());
    let ids = attributes(&page, "id");
    let known: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(known.len(), ids.len(), "{ids:?}");
    let links = attributes(&page, "href").into_iter().map(|target| &target[1..]);
    let labels = attributes(&page, "aria-labelledby").into_iter().flat_map(str::split_whitespace);
    for reference in links.chain(labels) {
        assert!(known.contains(reference), "{reference}");
    }
}

#[test]
fn text_from_a_result_is_escaped_everywhere() {
    let page = render_html(&full_run());
    assert!(!page.contains("<script>alert"));
    assert!(!page.contains("alert(\"x\")"));
    assert_eq!(page.matches("</script>").count(), 1);
    assert_eq!(page.matches("</style>").count(), 1);
    assert!(page.contains("&lt;script&gt;alert"));
}

#[test]
fn numbers_on_the_page_are_finite() {
    let page = render_html(&full_run());
    for word in ["NaN", ">inf", "inf%", " inf"] {
        assert!(!body(&page).contains(word), "{word}");
    }
}

#[test]
fn charts_and_tables_have_captions() {
    let page = render_html(&full_run());
    assert_eq!(page.matches("<table").count(), page.matches("<caption").count());
    let charts = body(&page).matches("role=\"img\"").count();
    assert!(0 < charts);
    assert_eq!(body(&page).matches("<svg").count(), charts + decorative(&page));
}

/// Legend symbols and the shared axis carry no meaning of their own.
fn decorative(page: &str) -> usize {
    let is_hidden = |svg: &&str| svg.split('>').next().is_some_and(|head| head.contains("aria-hidden"));
    body(page).split("<svg").skip(1).filter(is_hidden).count()
}

/// What is drawn without script.
fn body(page: &str) -> &str {
    let (_, body) = page.split_once("<body>").expect("there is a body");
    body.split_once("<script>").expect("there is a script").0
}

#[test]
fn first_screen_says_what_is_slow_and_how_sure_that_is() {
    let mut once = workload("Once/A");
    once.throughput = Throughput::of_runs(&[500.0]);
    let mut often = workload("Often/B");
    often.throughput = Throughput::of_runs(&[990.0, 1000.0, 1010.0, 1000.0]);
    often.warnings = vec!["the machine was busy".to_owned()];
    let width = often.throughput.relative_half_width().expect("four runs have one");
    let width = format!("±{}", format::percent(width));
    let page = render_html(&run(vec![once.clone(), often.clone()]));
    let cards = page.split("class=\"cards\"").nth(1).expect("there are cards");
    let cards = &cards[..cards.find("id=\"slo-title\"").expect("the bars follow")];
    for said in [
        "500 pods/s",
        "Once",
        "queue, cache, binding, API",
        &width,
        "1 workload ran once",
        "1 warning",
        "Often/B: the machine was busy",
    ] {
        assert!(cards.contains(said), "no {said:?} in {cards}");
    }
    assert!(cards.contains("1 workload with a warning; do not quote."));
    often.warnings.clear();
    let page = render_html(&run(vec![often]));
    assert!(page.contains("no warning: quote a value with its interval."));
    assert!(render_html(&run(vec![once])).contains("n = 1, no interval"));
}

#[test]
fn first_screen_says_what_changed_the_largest_move_first() {
    let changed = |name: &str, ratio: f64, verdict| {
        let mut workload = workload(name);
        let compared = Compared {
            against: EarlierRun {
                id: "r".to_owned(),
                label: None,
                revision: None,
                started_at: "2026-11-01T10:00:00Z".to_owned(),
            },
            figure: ComparedFigure::PodsPerS,
            base: 1000.0,
            head: 1000.0 * ratio,
            base_samples: 12,
            head_samples: 12,
            ratio: Estimate { value: ratio, low: ratio * 0.99, high: ratio * 1.01 },
            fence: 0.02,
            verdict,
            note: None,
        };
        workload.change = Some(Changes { last: Change::Compared(compared), baseline: None });
        workload
    };
    use crate::stats::Verdict::{Better, Unchanged, Worse};
    let card = |run: &RunResult| {
        let page = render_html(run);
        let rest = page.split("What changed</h2>").nth(1).expect("the card").to_owned();
        rest[..rest.find("</section>").expect("it ends")].to_owned()
    };
    let mut first_seen = workload("New/D");
    let why = "no earlier run of this workload".to_owned();
    first_seen.change = Some(Changes { last: Change::NotComparable { why }, baseline: None });
    let moved = [changed("A/a", 0.95, Worse), changed("B/b", 1.3, Better), changed("C/c", 1.0, Unchanged)];
    let said = card(&run([&moved[..], std::slice::from_ref(&first_seen)].concat()));
    assert!(said.contains("1 worse, 1 better"), "{said}");
    let (b, a) = (said.find("+30.0 %").expect("B"), said.find("-5.0 %").expect("A"));
    assert!(b < a, "the larger move stands first: {said}");
    for part in
        ["[+28.7 %", "since the last run with these settings", "2026-11-01 10:00", "1 workload not compared"]
    {
        assert!(said.contains(part), "no {part:?} in {said}");
    }
    assert!(card(&run(vec![changed("C/c", 1.0, Unchanged)])).contains("nothing changed"));
    let said = card(&run(vec![first_seen]));
    assert!(said.contains("not compared") && said.contains("no earlier run of this workload."), "{said}");
}

#[test]
fn bars_carry_the_interval_and_a_single_run_a_ring() {
    let mut often = workload("Often/B");
    often.throughput = Throughput::of_runs(&[900.0, 1000.0, 1100.0]);
    let Estimate { low, high, .. } = often.throughput.estimate().expect("three runs have one");
    let interval = format!("95 % interval {} to {}", format::rate(low), format::rate(high));
    let page = render_html(&run(vec![often]));
    let bars = page.split("<ol class=\"bars\">").nth(1).expect("there are bars");
    let bars = &bars[..bars.find("</ol>").expect("they end")];
    // The line between the ends, and a cap at each of them.
    assert_eq!(bars.matches("class=\"error\"").count(), 3, "{bars}");
    assert!(bars.contains(&interval), "no {interval:?} in {bars}");
    let page = render_html(&run(vec![workload("Once/A")]));
    let bars = page.split("<ol class=\"bars\">").nth(1).expect("there are bars");
    let bars = &bars[..bars.find("</ol>").expect("they end")];
    assert!(
        !bars.contains("class=\"error\"") && bars.contains("<circle class=\"max\"") && bars.contains("n=1")
    );
}

#[test]
fn studies_are_lines_with_intervals_and_the_rows_are_folded_away() {
    let estimate = |value: f64| Estimate { value, low: value * 0.9, high: value * 1.1 };
    let row = |latency: &str, variant: &str, value: f64| FigureRow {
        point: vec![latency.to_owned()],
        variant: variant.to_owned(),
        runs: 4,
        values: BTreeMap::from([(
            FigureMetric::Throughput,
            FigureValue { median: estimate(value), extra: None, ratio: None },
        )]),
    };
    let mut study = run(vec![]);
    study.figures = vec![Figure {
        name: "patches".to_owned(),
        title: "Patches".to_owned(),
        about: String::new(),
        base: "off".to_owned(),
        axes: vec!["API latency".to_owned()],
        metrics: vec![FigureMetric::Throughput],
        rounds: 2,
        rows: vec![
            row("1 ms", "off", 100_000.0),
            row("1 ms", "on", 90_000.0),
            row("20 ms", "off", 5_000.0),
            row("20 ms", "on", 1_000.0),
        ],
    }];
    let page = render_html(&study);
    let specs = attributes(&page, "data-spec");
    let [spec] = specs[..] else { panic!("{} charts", specs.len()) };
    let spec: serde_json::Value = serde_json::from_str(&spec.replace("&quot;", "\"")).expect("JSON");
    assert_eq!(spec["xTexts"], serde_json::json!(["1 ms", "20 ms"]));
    assert_eq!((&spec["xName"], &spec["yName"]), (&"API latency".into(), &"pods/s".into()));
    assert_eq!(spec["log"], true, "from 1,000 to 100,000");
    let series = &spec["series"];
    assert_eq!((&series[0]["name"], &series[1]["name"]), (&"off".into(), &"on".into()));
    assert_eq!(series[1]["values"], serde_json::json!([90_000, 1_000]));
    assert_eq!((&series[1]["low"][1], &series[1]["high"][1]), (&900.into(), &1100.into()));
    assert!(page.contains("<summary>All 4 rows of “"));
    assert!(!page.contains("<details class=\"fold\" open>"), "the wall of rows is open");
}

#[test]
fn headline_sums_up_the_run() {
    let sentence = |run: &RunResult| {
        let page = render_html(run);
        let (_, rest) = page.split_once("<h1>").expect("there is a headline");
        let (line, _) = rest.split_once("</h1>").expect("it ends");
        let mut text = String::new();
        let mut inside_tag = false;
        for c in line.chars() {
            match c {
                '<' => inside_tag = true,
                '>' => inside_tag = false,
                c if !inside_tag => text.push(c),
                _ => {}
            }
        }
        text
    };
    let mut fast = workload("Fast/A");
    fast.throughput.total = 212_000.0;
    let mut missed = workload("Slow/B");
    missed.nodes = 5000;
    missed.throughput.total = 62.0;
    missed.slo = slo::evaluate(&missed);
    let items = workload_items(&missed);
    missed.threshold = Threshold::evaluate(70.0, MetricSelector::default(), &items);
    let cases = [
        (run(vec![]), "0 workloads; no SLO line was measured."),
        (
            run(vec![fast.clone()]),
            "1 workload, 500 nodes: slowest 212,000 pods/s = 1,413× the upper SLO bound; all SLO lines pass.",
        ),
        (
            run(vec![fast, missed]),
            "2 workloads, 500 to 5,000 nodes: slowest 62.0 pods/s = 0.41× the upper SLO bound (Slow); \
             1 of 6 SLO lines fails.",
        ),
    ];
    for (run, wanted) in &cases {
        assert_eq!(sentence(run), *wanted);
    }
}

#[test]
fn script_stays_small() {
    assert!(include_str!("script.js").len() < 8 * 1024);
}
