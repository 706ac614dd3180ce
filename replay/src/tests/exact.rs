use super::*;

#[test]
fn committed_traces_replay_without_a_difference() {
    let files = traces_in(&committed());
    let reports: Vec<TraceReport> = files.iter().map(|path| assert_exact(path)).collect();
    for (family, count) in REPLAYED_FAMILIES {
        let traces = reports.iter().filter(|report| report.family == family).count();
        assert_eq!(traces, count, "committed traces of family {family}");
    }
    assert_eq!(reports.len(), REPLAYED_FAMILIES.iter().map(|(_, count)| count).sum::<usize>());
    for report in &reports {
        assert_eq!(report.name, format!("{}-{}", report.family, report.seed));
    }
}

/// They stand in a folder of their own: their steps are no steps of the twins that the others are mixed
/// for.
#[test]
fn pod_group_traces_replay_without_a_difference() {
    let files = traces_in(&committed().join("podgroup"));
    assert_eq!(files.len(), 16);
    let traces: Vec<Trace> = files.iter().map(|path| read_trace(path).expect("they are sound")).collect();
    files.iter().for_each(|path| drop(assert_exact(path)));
    let records = traces.iter().flat_map(|trace| &trace.steps).filter_map(|step| match step {
        TraceStep::SchedulePodGroup { record, .. } => Some(record),
        _ => None,
    });
    let records: Vec<_> = records.collect();
    let has = |is: fn(&PodGroupRecord) -> bool| records.iter().any(|record| is(record));
    assert!(has(|it| it.pre_enqueue.is_some()));
    assert!(has(|it| it.error.is_some()));
    assert!(has(|it| it.runs.len() > 1 && it.placement_scores.len() > 1));
    assert!(has(|it| it.preemption.as_ref().is_some_and(|it| !it.victims.is_empty())));
    assert!(has(|it| !it.placed.is_empty() && !it.rejected.is_empty()));
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
