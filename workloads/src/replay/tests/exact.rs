use super::*;

#[test]
fn committed_traces_replay_without_a_difference() {
    let files = traces_in(&committed());
    let reports: Vec<TraceReport> = files.iter().map(|path| assert_exact(path)).collect();
    for family in EXACT_FAMILIES {
        let traces = reports.iter().filter(|report| report.family == family).count();
        assert!(traces >= 2, "family {family} has {traces} committed traces");
    }
    for report in &reports {
        assert_eq!(report.name, format!("{}-{}", report.family, report.seed));
    }
}

#[test]
fn committed_traces_cover_the_special_conditions() {
    let traces: Vec<Trace> = traces_in(&committed())
        .iter()
        .map(|path| read_trace(path).expect("committed traces are sound"))
        .collect();
    for special in ["image-size-differs", "resized-pods"] {
        assert!(traces.iter().any(|trace| trace.traits.iter().any(|it| it == special)), "{special}");
    }
    let has = |is: fn(&Step) -> bool| traces.iter().flat_map(|trace| &trace.steps).any(is);
    assert!(has(|step| matches!(step, Step::AddNode { .. })));
    assert!(has(|step| matches!(step, Step::UpdateNode { .. })));
    assert!(has(|step| matches!(step, Step::RemoveNode { .. })));
    assert!(has(|step| matches!(step, Step::DeletePod { .. })));
    assert!(has(|step| matches!(step, Step::Schedule { record, .. } if record.chosen.is_none())));
    assert!(has(
        |step| matches!(step, Step::Schedule { record, .. } if record.pre_filter.rejected.is_some())
    ));
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that does nothing must say so")]
fn all_recorded_traces_of_the_exact_families_replay_without_a_difference() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/conformance");
    if !folder.is_dir() {
        eprintln!(
            "skipped: {} is absent; the committed traces are replayed by another test",
            folder.display()
        );
        return;
    }
    let mut files = traces_in(&folder);
    files.retain(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.rsplit_once('-').is_some_and(|(family, _)| EXACT_FAMILIES.contains(&family))
    });
    assert!(files.len() >= EXACT_FAMILIES.len(), "only {} traces in {}", files.len(), folder.display());
    for file in &files {
        assert_exact(file);
    }
}
