use super::*;
use crate::compare::tests::{run, workload};
use crate::history::Record;
use crate::stats::testing::Sampler;

/// One run a minute; `level` by position, jitter of one percent.
fn records(seed: u64, count: usize, level: impl Fn(usize) -> f64) -> Vec<Record> {
    let mut sampler = Sampler::new(seed);
    (0..count)
        .map(|at| {
            let rate = sampler.normal(1000.0, 10.0) * level(at);
            let mut result = run(
                &format!("2026-11-15T{:02}:{:02}:00Z", 10 + at / 60, at % 60),
                vec![workload("T/W", &[rate])],
            );
            result.git_revision = Some(format!("{at:012}"));
            Record::from_run(&result, None, Vec::new())
        })
        .collect()
}

fn found(records: &[Record]) -> Alerts {
    Alerts::of(records, Fence::given(0.02))
}

fn step(place: usize, factor: f64) -> impl Fn(usize) -> f64 {
    move |at| if at < place { 1.0 } else { factor }
}

#[test]
fn planted_regression_is_open_with_its_size_and_its_run() {
    let alerts = found(&records(1, 40, step(25, 0.9)));
    assert_eq!((alerts.open, alerts.alerts.len()), (1, 1), "{alerts:?}");
    let alert = &alerts.alerts[0];
    assert_eq!((alert.state, alert.verdict, alert.at), (State::Open, Verdict::Worse, 25));
    assert_eq!(alert.first.revision.as_deref(), Some("000000000025"));
    assert_eq!(alert.before.revision.as_deref(), Some("000000000024"));
    assert!(alert.ratio.low <= 0.9 && 0.9 <= alert.ratio.high, "{:?}", alert.ratio);
    assert_eq!((alert.base_runs, alert.head_runs), (25, 15));
    let text = markdown(&alerts);
    assert!(text.starts_with("### 1 regression open") && text.contains("| T/W | open | -"), "{text}");
    let improved = found(&records(1, 40, step(25, 1.1)));
    assert_eq!((improved.open, improved.alerts[0].state), (0, State::Improvement));
}

#[test]
fn regression_that_was_mended_is_recovered_and_a_relapse_is_open() {
    let mended = found(&records(2, 45, |at| if (15..30).contains(&at) { 0.85 } else { 1.0 }));
    assert_eq!(mended.open, 0, "{mended:?}");
    let worse = mended.alerts.iter().find(|alert| alert.verdict == Verdict::Worse).expect("planted");
    assert_eq!(worse.state, State::Recovered);
    assert_eq!(worse.recovered.as_ref().expect("by a run").revision.as_deref(), Some("000000000030"));
    let relapsed = found(&records(2, 60, |at| if at / 15 % 2 == 0 { 1.0 } else { 0.85 }));
    assert!(0 < relapsed.open, "{relapsed:?}");
}

#[test]
fn noise_raises_an_alert_in_fewer_than_five_of_a_hundred_histories() {
    let alarms = (0..200).filter(|&seed| !found(&records(seed, 30, |_| 1.0)).alerts.is_empty()).count();
    assert!(alarms < 10, "{alarms} of 200");
}

#[test]
fn series_without_a_completed_run_has_no_level() {
    let mut runs = records(8, 10, |_| 1.0);
    runs.iter_mut().for_each(|record| record.points[0].status = RunStatus::Stuck);
    let alerts = found(&runs);
    assert_eq!((alerts.series, alerts.too_short, alerts.alerts), (1, 1, Vec::new()));
}

#[test]
fn change_below_the_fence_is_none() {
    assert_eq!(found(&records(3, 80, step(40, 0.99))).alerts, []);
}

#[test]
fn settings_and_machines_are_never_mixed() {
    let mut runs = records(4, 40, |_| 1.0);
    for (at, record) in runs.iter_mut().enumerate().skip(20) {
        record.points[0].throughput.total /= 10.0;
        if at % 2 == 0 {
            record.settings.as_mut().expect("ours").threads = 1;
        } else {
            record.machine.as_mut().expect("ours").cpu_model = "Slow CPU".to_owned();
        }
    }
    let alerts = found(&runs);
    assert_eq!((alerts.series, alerts.alerts), (3, Vec::new()));
}

#[test]
fn regression_of_a_workload_whose_file_changed_since_is_superseded() {
    let mut runs = records(5, 40, step(20, 0.8));
    runs[39].points[0].content =
        Some(schedlab_workloads::results::Content { workload: "other".to_owned(), scheduler_config: None });
    let alerts = found(&runs);
    assert_eq!((alerts.open, alerts.alerts[0].state), (0, State::Superseded));
}

#[test]
fn normalised_throughput_raises_no_alert_when_the_machine_slows_down() {
    let mut runs = records(6, 40, step(20, 0.7));
    for (at, record) in runs.iter_mut().enumerate() {
        let machine_speed = if at < 20 { 1.0 } else { 0.7 };
        let pods_per_s = record.points[0].throughput.total / machine_speed;
        record.points[0].normalised = Some(schedlab_workloads::results::Normalised {
            pods_per_s,
            low: None,
            high: None,
            machine_speed,
            kernel: schedlab_core::reference::VERSION,
        });
    }
    assert_eq!(found(&runs).alerts, []);
    let mut two_kernels = runs.clone();
    two_kernels[3].points[0].normalised.as_mut().expect("set above").kernel = 1;
    assert_eq!(found(&two_kernels).open, 1, "two reference kernels make no series");
    runs[3].points[0].normalised = None;
    assert_eq!(found(&runs).open, 1, "without all of them the plain figures are looked at");
}

#[test]
fn names_of_a_history_cannot_format_a_pull_request() {
    let mut runs = records(7, 40, step(20, 0.8));
    for record in &mut runs {
        record.points[0].name = "T/<img src=x>|`@all`".to_owned();
    }
    let text = markdown(&found(&runs));
    assert!(text.contains("T/&lt;img src=x&gt;\\|\\`\\@all\\`"), "{text}");
}
