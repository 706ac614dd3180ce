use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use schedlab_workloads::files::faults::at_every_step;
use schedlab_workloads::results::{RunStatus, Stage, WorkloadResult, write_bench_text, write_data_items};

use super::*;
use crate::compare::tests::{run, workload};
use crate::stats::HISTORY_MIN;

struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("schedlab-history-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join(FILE_NAME)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn record(minute: u32, rate: f64) -> Record {
    let started_at = format!("2026-11-15T12:{minute:02}:00Z");
    Record::from_run(&run(&started_at, vec![workload("T/W", &[rate, rate, rate])]), None, Vec::new())
}

fn rates(history: &History) -> Vec<f64> {
    history.records.iter().map(|record| record.points[0].pods_per_s()).collect()
}

#[test]
fn appended_records_are_read_once_in_time_order() {
    let folder = Folder::new();
    for record in [record(5, 500.0), record(1, 100.0), record(5, 500.0)] {
        append(&folder.0, &record).unwrap();
    }
    let history = read(&folder.0).unwrap();
    assert_eq!(history.records, [record(1, 100.0), record(5, 500.0)]);
    assert!(history.warnings.is_empty());
}

#[test]
fn a_torn_write_at_any_byte_costs_that_record_alone() {
    let folder = Folder::new();
    append(&folder.0, &record(1, 100.0)).unwrap();
    let whole = fs::read(folder.file()).unwrap();
    append(&folder.0, &record(2, 200.0)).unwrap();
    let two = fs::read(folder.file()).unwrap();
    for cut in (whole.len() + 1..two.len()).step_by(7) {
        fs::write(folder.file(), &two[..cut]).unwrap();
        append(&folder.0, &record(3, 300.0)).unwrap();
        let history = read(&folder.0).unwrap();
        assert_eq!(rates(&history), [100.0, 300.0], "torn at byte {cut}");
        assert_eq!(history.warnings.len(), 1, "torn at byte {cut}");
        assert!(history.warnings[0].contains("not a whole record"), "{}", history.warnings[0]);
    }
}

#[test]
fn disk_fault_at_any_step_of_a_record_keeps_the_history() {
    let folder = Folder::new();
    append(&folder.0, &record(1, 100.0)).unwrap();
    let one = fs::read(folder.file()).unwrap();
    let act = || {
        fs::write(folder.file(), &one).unwrap();
        append(&folder.0, &record(2, 200.0))
    };
    let count = at_every_step(act, |case, _, result| {
        let found = rates(&read(&folder.0).unwrap());
        assert!(found == [100.0, 200.0] || (result.is_err() && found == [100.0]), "{case}: {found:?}");
        if let Err(error) = result {
            assert!(error.to_string().starts_with(&folder.0.display().to_string()), "{case}: {error}");
        }
        append(&folder.0, &record(3, 300.0)).unwrap();
        let after = rates(&read(&folder.0).unwrap());
        assert!(after.starts_with(&[100.0]) && after.ends_with(&[300.0]), "{case}: {after:?}");
    });
    assert!(20 < count, "{count} faults");
}

#[test]
fn history_whose_header_is_torn_can_be_recorded_in() {
    let folder = Folder::new();
    append(&folder.0, &record(1, 100.0)).unwrap();
    let whole = fs::read(folder.file()).unwrap();
    for cut in 0..16 {
        fs::write(folder.file(), &whole[..cut]).unwrap();
        assert!(read(&folder.0).unwrap().records.is_empty(), "torn at byte {cut}");
        append(&folder.0, &record(1, 100.0)).unwrap();
        assert_eq!(fs::read(folder.file()).unwrap(), whole, "torn at byte {cut}");
    }
}

#[test]
fn a_flipped_bit_costs_that_record_alone() {
    let folder = Folder::new();
    for minute in 1..=3 {
        append(&folder.0, &record(minute, f64::from(minute))).unwrap();
    }
    let bytes = fs::read(folder.file()).unwrap();
    let third = 16 + (bytes.len() - 16) / 3;
    for at in (third + 40..third + 200).step_by(13) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        fs::write(folder.file(), damaged).unwrap();
        let history = read(&folder.0).unwrap();
        assert_eq!(rates(&history), [1.0, 3.0], "bit flipped in byte {at}");
        assert_eq!(history.warnings.len(), 1);
    }
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let folder = Folder::new();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let dir = &folder.0;
            scope.spawn(move || {
                for turn in 0..10 {
                    append(dir, &record(writer * 7, f64::from(writer * 100 + turn + 1))).unwrap();
                }
            });
        }
    });
    let history = read(&folder.0).unwrap();
    assert_eq!(history.records.len(), 80);
    assert!(history.warnings.is_empty(), "{:?}", history.warnings);
}

#[test]
fn another_file_is_neither_read_nor_written_to() {
    let folder = Folder::new();
    for content in ["not a history, but longer than its header", "short"] {
        fs::write(folder.file(), content).unwrap();
        assert!(matches!(read(&folder.0), Err(HistoryError::NotAHistory { .. })));
        assert!(matches!(append(&folder.0, &record(1, 1.0)), Err(HistoryError::NotAHistory { .. })));
        assert_eq!(fs::read_to_string(folder.file()).unwrap(), content);
    }
    let missing = read(Path::new("/nonexistent")).unwrap_err().to_string();
    assert!(missing.contains("`schedlab record --history DIR` makes one"), "{missing}");
}

#[test]
fn our_perf_dash_json_is_imported_as_it_was_measured() {
    let folder = Folder::new();
    let measured =
        run("2026-11-15T12:00:00Z", vec![workload("SchedulingBasic/5000Nodes_10000Pods", &[680.0, 680.0])]);
    let files = write_data_items(&folder.0, &measured).unwrap();
    let facts = ImportFacts { revision: Some("v1.37.0".to_owned()), ..ImportFacts::default() };
    let record = import_file(&files[0], &facts).unwrap();
    assert_eq!(record.source, RecordSource::Schedlab, "the file's labels say so");
    assert_eq!(record.coverage, measured.coverage);
    assert_eq!(record.started_at, "2026-11-15T12:00:00Z");
    assert_eq!(record.revision.as_deref(), Some("v1.37.0"));
    let point = &record.points[0];
    assert_eq!(point.name, "SchedulingBasic/5000Nodes_10000Pods");
    assert_eq!((point.suite.as_str(), point.collector.as_deref()), ("quick", Some("namespace-2")));
    assert_eq!((point.nodes, point.pods_per_s()), (5000, 680.0));
    let end_to_end = &point.latency_us[&Stage::EndToEnd];
    assert!((end_to_end.p99 - 1800.0).abs() < 1e-6, "{end_to_end:?}");
    assert!(point.latency_us.contains_key(&Stage::Filter));
}

#[test]
fn partial_run_is_imported_as_one_from_perf_dash_json_and_bench_text() {
    let folder = Folder::new();
    let cut_short = WorkloadResult { status: RunStatus::Partial, ..workload("T/Cut", &[680.0]) };
    let mut measured = run("2026-11-15T12:00:00Z", vec![workload("T/Whole", &[500.0]), cut_short]);
    measured.partial = true;
    let bench = folder.0.join("bench.txt");
    write_bench_text(&bench, &measured).unwrap();
    let items = write_data_items(&folder.0, &measured).unwrap().remove(0);
    let facts = ImportFacts { started_at: Some(measured.started_at.clone()), ..ImportFacts::default() };
    for file in [bench, items] {
        let record = import_file(&file, &facts).unwrap();
        assert!(record.partial, "{}", file.display());
        let found: BTreeMap<&str, RunStatus> =
            record.points.iter().map(|point| (point.name.as_str(), point.status)).collect();
        let wanted = BTreeMap::from([("T/Whole", RunStatus::Completed), ("T/Cut", RunStatus::Partial)]);
        assert_eq!(found, wanted, "{}", file.display());
    }
}

#[test]
fn import_refuses_with_the_reason() {
    let folder = Folder::new();
    let file = folder.0.join("data.json");
    let refused = |content: &str, facts: &ImportFacts| {
        fs::write(&file, content).unwrap();
        import_file(&file, facts).unwrap_err().to_string()
    };
    let dated = ImportFacts { started_at: Some("2026-01-01T00:00:00Z".to_owned()), ..ImportFacts::default() };
    let empty = r#"{"version":"v1","dataItems":[]}"#;
    let good = r#"{"version":"v1","dataItems":[{"data":{"Average":3},"unit":"pods/s",
        "labels":{"Name":"BenchmarkPerfScheduling/T/W","Metric":"SchedulingThroughput"}}]}"#;
    assert!(refused(good, &ImportFacts::default()).contains("give one with --at"));
    assert!(refused(empty, &dated).contains("none of its 0 item(s) is a SchedulingThroughput"));
    assert!(refused("[]", &dated).contains("not perf-dash JSON"));
}

#[test]
fn the_noise_of_a_revision_becomes_its_fence() {
    let mut records: Vec<Record> =
        (0..=HISTORY_MIN as u32 + 1).map(|i| record(i, if i % 2 == 0 { 1000.0 } else { 1010.0 })).collect();
    let fence = fences(&records, 0.001)["T/W"];
    assert!((fence.relative - 0.01).abs() < 1e-9, "{fence:?}");
    // Changes between revisions are no noise.
    for (i, record) in records.iter_mut().enumerate() {
        record.revision = Some(i.to_string());
    }
    assert!(fences(&records, 0.001).is_empty());
}

/// Upstream: kubernetes/perf-tests. perfdash/config.go `benchmarkDescriptions`: files whose name
/// begins with `OutputFilePrefix_Name`, here `BenchmarkPerfScheduling_benchmark`, and
/// `FetchMetricNameFromArtifact`. metrics-downloader.go `getJobData`: such files of a build all go to
/// one category and to the label before the first underscore. parser.go `parsePerfData`: the first
/// file's `version` counts, files of another are dropped, labels `Count` and `SlowCount` too.
/// www/script.js `getLabels`, `getData`: an item is shown where every label that any item has is the
/// chosen one.
#[test]
fn perf_dash_reads_our_files_by_its_own_rules() {
    use std::collections::{BTreeMap, BTreeSet};

    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct PerfData {
        version: String,
        data_items: Vec<Item>,
        /// Of the file: no page shows them.
        #[serde(rename = "labels", default)]
        _labels: BTreeMap<String, String>,
    }
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Item {
        data: BTreeMap<String, f64>,
        unit: String,
        labels: BTreeMap<String, String>,
    }

    let folder = Folder::new();
    let mut other = workload("Affinity/W", &[50.0]);
    other.suite = "affinity".to_owned();
    // One that measured no extension point: its items lack a label that the others have.
    other.metrics_collected.clear();
    let measured = run("2026-11-15T12:00:00Z", vec![workload("Basic/W", &[680.0]), other]);
    let files = write_data_items(&folder.0, &measured).unwrap();
    assert_eq!(files.len(), 2, "a file a suite");

    // getJobData, for one build.
    let mut builds: BTreeMap<String, (String, Vec<Item>)> = BTreeMap::new();
    for file in &files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with("BenchmarkPerfScheduling_benchmark"), "{name}");
        let label = name.split('_').next().unwrap().to_owned();
        let data: PerfData = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        let (version, items) = builds.entry(label).or_default();
        if version.is_empty() {
            version.clone_from(&data.version);
        }
        assert_eq!(*version, data.version, "a file of another version would be dropped");
        items.extend(data.data_items.into_iter().map(|mut item| {
            item.labels.retain(|name, _| name != "Count" && name != "SlowCount");
            item
        }));
    }
    assert_eq!(builds.keys().collect::<Vec<_>>(), ["BenchmarkPerfScheduling"]);
    let (_, items) = &builds["BenchmarkPerfScheduling"];

    // getLabels and getData, with the labels of each item chosen.
    let names: BTreeSet<&String> = items.iter().flat_map(|item| item.labels.keys()).collect();
    for item in items {
        let chosen: BTreeMap<&String, Option<&String>> =
            names.iter().map(|name| (*name, item.labels.get(*name))).collect();
        assert!(chosen.values().all(Option::is_some), "it can never be chosen: {:?}", item.labels);
        let matches = |other: &&Item| chosen.iter().all(|(name, label)| other.labels.get(*name) == *label);
        assert_eq!(items.iter().filter(matches).count(), 1, "two items are one line: {:?}", item.labels);
        assert!(!item.data.is_empty() && !item.unit.is_empty());
    }
    let throughput = items.iter().filter(|item| item.labels["Metric"] == "SchedulingThroughput");
    for item in throughput {
        let buckets: Vec<&str> = item.data.keys().map(String::as_str).collect();
        // The windows' percentiles are there where a run has windows: these have none.
        assert_eq!(buckets, ["Average"]);
    }
}

#[test]
fn upstream_perf_dash_json_is_imported_with_colons_in_its_date() {
    let folder = Folder::new();
    let file =
        folder.0.join("BenchmarkPerfScheduling_benchmark_default_preemption_2026-11-15T12:30:45Z.json");
    let text = r#"{"version":"v1","dataItems":[{"data":{"Average":310.5,"Perc50":300,"Perc99":400},"unit":"pods/s",
        "labels":{"Name":"BenchmarkPerfScheduling/Case/500Nodes/namespace-2","Metric":"SchedulingThroughput"}}]}"#;
    fs::write(&file, text).unwrap();
    let record = import_file(&file, &ImportFacts::default()).unwrap();
    assert_eq!(record.source, RecordSource::PerfDash);
    assert_eq!(record.started_at, "2026-11-15T12:30:45Z");
    assert_eq!(record.coverage, "scheduler + apiserver + etcd, by scheduler_perf");
    assert_eq!(
        (record.points[0].suite.as_str(), record.points[0].pods_per_s()),
        ("default_preemption", 310.5)
    );
}

#[test]
fn bench_text_names_lose_the_processors_that_all_of_them_share() {
    let folder = Folder::new();
    let file = folder.0.join("bench.txt");
    let names = |text: &str| {
        fs::write(&file, text).unwrap();
        let record = read_bench_text(&file, &ImportFacts::default()).unwrap();
        let cores = record.machine.expect("a machine").cores;
        (record.points.into_iter().map(|point| point.name).collect::<Vec<_>>(), cores)
    };
    let line = |name: &str| format!("BenchmarkPerfScheduling/{name} 1 5 SchedulingThroughput/Average\n");
    assert_eq!(names(&(line("A/x-5-6") + &line("B/y-6"))), (vec!["A/x-5".to_owned(), "B/y".to_owned()], 6));
    // GOMAXPROCS=1 leaves no suffix: what looks like one belongs to the workload.
    assert_eq!(names(&(line("A/x-5") + &line("B/y"))), (vec!["A/x-5".to_owned(), "B/y".to_owned()], 1));
}

#[test]
fn a_record_whose_id_would_name_another_directory_is_passed_over() {
    let folder = Folder::new();
    let long = "x".repeat(300);
    let ids =
        ["../../../tmp/x", "a:b", "a/b", "..", "a\\b", "/etc/x", "a\0b", "", "-rf", "NUL", "con.js", &long];
    for id in ids {
        append(&folder.0, &Record { id: id.to_owned(), ..record(1, 1.0) }).unwrap();
    }
    append(&folder.0, &record(2, 2.0)).unwrap();
    let history = read(&folder.0).unwrap();
    assert_eq!(rates(&history), [2.0]);
    assert_eq!(history.warnings.len(), ids.len());
    assert!(
        history.warnings[0].contains("its id \"../../../tmp/x\" is not made of"),
        "{}",
        history.warnings[0]
    );
}

#[test]
fn rerecorded_run_keeps_its_position_and_takes_the_new_name() {
    let folder = Folder::new();
    append(&folder.0, &record(1, 1000.0)).unwrap();
    append(&folder.0, &record(2, 1000.0)).unwrap();
    let named = Record { label: Some("main".to_owned()), ..record(1, 1000.0) }.with_id();
    assert_eq!(named.id, record(1, 1000.0).id, "a name is no measurement");
    append(&folder.0, &named).unwrap();
    let history = read(&folder.0).unwrap();
    let labels: Vec<Option<&str>> = history.records.iter().map(|record| record.label.as_deref()).collect();
    assert_eq!(labels, [Some("main"), None]);
}

#[test]
fn record_keeps_the_interval_and_the_samples_of_the_headline() {
    let folder = Folder::new();
    let measured = run("2026-11-15T12:00:00Z", vec![workload("T/W", &[680.0, 690.0, 700.0])]);
    append(&folder.0, &Record::from_run(&measured, None, Vec::new())).unwrap();
    let kept = read(&folder.0).unwrap().records[0].points[0].throughput;
    assert_eq!(kept, measured.workloads[0].throughput);
    assert!(kept.low.is_some() && kept.high.is_some() && kept.samples == 3);
}

#[test]
fn bench_text_is_imported_with_a_date() {
    let folder = Folder::new();
    let file = folder.0.join("bench.txt");
    let line = "BenchmarkPerfScheduling/Case/500Nodes-6 \t 1 \t 310.5 SchedulingThroughput/Average\n";
    fs::write(
        &file,
        format!("goos: linux\npkg: k8s.io/kubernetes/test/integration/scheduler_perf/misc\n{line}"),
    )
    .unwrap();
    let undated = import_file(&file, &ImportFacts::default()).unwrap_err().to_string();
    assert!(undated.contains("give one with --at"), "{undated}");
    let dated = ImportFacts { started_at: Some("2026-01-01T00:00:00Z".to_owned()), ..ImportFacts::default() };
    let record = import_file(&file, &dated).unwrap();
    assert_eq!((record.source, record.points[0].pods_per_s()), (RecordSource::PerfDash, 310.5));
}

#[test]
fn texts_of_a_history_cannot_command_a_terminal() {
    let folder = Folder::new();
    let mut hostile = record(1, 1000.0);
    let escape = "\u{1b}[2Jmain\u{9b}1m\u{7}";
    hostile.label = Some(escape.to_owned());
    hostile.revision = Some(escape.to_owned());
    hostile.points[0].name = escape.to_owned();
    hostile.points[0].message = Some(format!("{escape}\nsecond line"));
    hostile.settings.as_mut().unwrap().options.insert(escape.to_owned(), escape.to_owned());
    hostile.machine.as_mut().unwrap().cpu_model = escape.to_owned();
    append(&folder.0, &hostile).unwrap();
    let read = read(&folder.0).unwrap();
    let text = format!("{:?}", read.records[0]);
    assert!(!text.contains("\\u{1b}") && !text.contains("\\u{9b}") && !text.contains("\\u{7}"), "{text}");
    assert!(text.contains("\\nsecond line"), "a message keeps its lines: {text}");
    let words = crate::history::Comparable::of(&read.records[0], &read.records[0].points[0]);
    assert_eq!(words.differences(&words), []);
}

/// A history of one record whose payload is `text`.
fn write_raw(folder: &Folder, text: impl std::io::Read) {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    let mut text = text;
    std::io::copy(&mut text, &mut encoder).unwrap();
    let payload = encoder.finish().unwrap();
    let mut bytes = b"schedlab-hist/1\n\xF5SLR".to_vec();
    bytes.extend(u32::try_from(payload.len()).unwrap().to_le_bytes());
    bytes.extend(crc32fast::hash(&payload).to_le_bytes());
    bytes.extend(payload);
    fs::write(folder.file(), bytes).unwrap();
}

#[test]
fn history_that_unpacks_beyond_256_mib_is_refused() {
    use std::io::Read as _;
    let folder = Folder::new();
    write_raw(&folder, std::io::repeat(b' ').take((256 << 20) + 1));
    let packed = fs::metadata(folder.file()).unwrap().len();
    assert!(packed < 1 << 20, "{packed}");
    let error = read(&folder.0).unwrap_err();
    let wanted = format!("its {packed} bytes unpack to more than 268435456");
    assert!(matches!(error, HistoryError::UnpacksTooLarge { .. }), "{error}");
    assert!(error.to_string().contains(&wanted), "{error}");
}

#[test]
fn history_of_markers_only_is_passed_over_in_linear_time() {
    let folder = Folder::new();
    let mut bytes = b"schedlab-hist/1\n".to_vec();
    // Each claims all that is left behind it: without a bound 350 GB would be summed.
    let total = 4 << 20;
    while bytes.len() < total {
        let left = u32::try_from(total - bytes.len()).unwrap();
        bytes.extend(b"\xF5SLR");
        bytes.extend(left.saturating_sub(64).to_le_bytes());
        bytes.extend([0; 4]);
    }
    fs::write(folder.file(), bytes).unwrap();
    let started = std::time::Instant::now();
    let history = read(&folder.0).unwrap();
    assert!(history.records.is_empty());
    assert_eq!(history.warnings.len(), 1, "{:?}", history.warnings);
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
}
