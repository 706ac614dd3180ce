use super::*;

#[test]
fn committed_traces_replay_without_a_difference() {
    let files = traces_in(&committed());
    let reports: Vec<TraceReport> = files.iter().map(|path| assert_exact(path)).collect();
    for family in REPLAYED_FAMILIES {
        let traces = reports.iter().filter(|report| report.family == family).count();
        assert_eq!(traces, 12, "committed traces of family {family}");
    }
    assert_eq!(reports.len(), 12 * REPLAYED_FAMILIES.len());
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
    let has = |is: fn(&TraceStep) -> bool| traces.iter().flat_map(|trace| &trace.steps).any(is);
    assert!(has(|step| matches!(step, TraceStep::AddNode { .. })));
    assert!(has(|step| matches!(step, TraceStep::UpdateNode { .. })));
    assert!(has(|step| matches!(step, TraceStep::RemoveNode { .. })));
    assert!(has(|step| matches!(step, TraceStep::DeletePod { .. })));
    assert!(has(|step| matches!(step, TraceStep::Schedule { record, .. } if record.chosen.is_none())));
    assert!(has(
        |step| matches!(step, TraceStep::Schedule { record, .. } if record.pre_filter.rejected.is_some())
    ));
}

/// A family that can be read belongs in the list of those that are replayed.
#[test]
fn traces_that_are_not_replayed_are_of_families_that_cannot_be_read_yet() {
    let files = traces_in(&committed().join("not-replayed"));
    for (family, why) in NOT_REPLAYED_FAMILIES {
        let traces: Vec<_> = files.iter().filter(|file| family_of(file) == family).collect();
        assert_eq!(traces.len(), 16, "traces of {family}");
        assert!(traces.iter().all(|file| replay_file(file).is_err()), "{family} is replayed, although {why}");
    }
    assert_eq!(files.len(), 16 * NOT_REPLAYED_FAMILIES.len());
}

fn family_of(file: &Path) -> &str {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.rsplit_once('-').map_or(name, |(family, _)| family)
}
