//! The comparer can fail: for each compared value, a record that says something else is reported.

use super::*;

struct Corruption {
    name: &'static str,
    trace: &'static str,
    /// Changes a record that has the value in question; says whether it had it.
    corrupt: fn(&mut ScheduleRecord) -> bool,
    reported_as: fn(&DifferenceKind) -> bool,
}

/// The first infeasible node of a record whose pod fits nowhere, or somewhere.
fn rejected(record: &mut ScheduleRecord) -> Option<&mut NodeRecord> {
    record.nodes.as_mut()?.iter_mut().find(|node| !node.feasible)
}

fn feasible(record: &mut ScheduleRecord) -> Option<&mut NodeRecord> {
    record.nodes.as_mut()?.iter_mut().find(|node| node.feasible)
}

fn unschedulable(record: &mut ScheduleRecord) -> Option<&mut NodeRecord> {
    if record.chosen.is_some() { None } else { rejected(record) }
}

/// Changes what `change` gets to see, if there is something to see.
fn if_some<T>(found: Option<T>, change: impl FnOnce(T)) -> bool {
    found.map(change).is_some()
}

const PRE_FILTER_AND_SKIPS: [Corruption; 8] = [
    Corruption {
        name: "PreFilter rejected nothing",
        trace: "node-name-1",
        corrupt: |record| record.pre_filter.rejected.take().is_some(),
        reported_as: |what| *what == DifferenceKind::PreFilterRejected,
    },
    Corruption {
        name: "PreFilter rejected with another code",
        trace: "node-name-1",
        corrupt: |record| {
            if_some(record.pre_filter.rejected.as_mut(), |it| it.code = "Unschedulable".to_owned())
        },
        reported_as: |what| *what == DifferenceKind::PreFilterRejected,
    },
    Corruption {
        name: "PreFilter rejected for another reason",
        trace: "node-affinity-2",
        corrupt: |record| if_some(record.pre_filter.rejected.as_mut(), |it| it.reasons[0].push('!')),
        reported_as: |what| *what == DifferenceKind::EngineDiagnosis,
    },
    Corruption {
        name: "another plugin rejected in PreFilter",
        trace: "node-affinity-2",
        corrupt: |record| {
            if_some(record.pre_filter.rejected.as_mut(), |it| it.plugin = Some("NodePorts".to_owned()))
        },
        reported_as: |what| *what == DifferenceKind::EnginePlugins,
    },
    Corruption {
        name: "other PreFilter nodes",
        trace: "node-name-1",
        corrupt: |record| if_some(record.pre_filter.nodes.as_mut(), |it| it.push("node-99".to_owned())),
        reported_as: |what| *what == DifferenceKind::PreFilterNodes,
    },
    Corruption {
        name: "other plugins named nodes",
        trace: "node-name-1",
        corrupt: |record| if_some(record.pre_filter.nodes_by.first_mut(), |it| *it = "NodePorts".to_owned()),
        reported_as: |what| *what == DifferenceKind::PreFilterNodesBy,
    },
    Corruption {
        name: "a filter that was not skipped",
        trace: "taints-3",
        corrupt: |record| {
            let at = record.skip_filter.iter().position(|name| name == "NodePorts");
            if_some(at, |at| drop(record.skip_filter.remove(at)))
        },
        reported_as: |what| *what == DifferenceKind::SkipFilter,
    },
    Corruption {
        name: "a score that was skipped",
        trace: "taints-3",
        corrupt: |record| {
            let is_scored = record.chosen.is_some();
            record.skip_score.push("TaintToleration".to_owned());
            is_scored
        },
        reported_as: |what| *what == DifferenceKind::SkipScore,
    },
];

const NODES: [Corruption; 11] = [
    Corruption {
        name: "nodes in another order",
        trace: "taints-3",
        corrupt: |record| if_some(record.nodes.as_mut(), |nodes| nodes.swap(0, 1)),
        reported_as: |what| *what == DifferenceKind::NodeList,
    },
    Corruption {
        name: "a rejected node was feasible",
        trace: "taints-3",
        corrupt: |record| if_some(rejected(record), |node| node.feasible = true),
        reported_as: |what| matches!(what, DifferenceKind::Feasible { .. }),
    },
    Corruption {
        name: "a feasible node was rejected",
        trace: "taints-3",
        corrupt: |record| if_some(feasible(record), |node| node.feasible = false),
        reported_as: |what| matches!(what, DifferenceKind::Feasible { .. }),
    },
    Corruption {
        name: "another plugin rejected",
        trace: "taints-3",
        corrupt: |record| if_some(rejected(record), |node| node.plugin = Some("NodePorts".to_owned())),
        reported_as: |what| matches!(what, DifferenceKind::Plugin { .. }),
    },
    Corruption {
        name: "another code",
        trace: "taints-3",
        corrupt: |record| if_some(rejected(record), |node| node.code = Some("Unschedulable".to_owned())),
        reported_as: |what| matches!(what, DifferenceKind::Code { .. }),
    },
    Corruption {
        name: "one more reason",
        trace: "resources-10",
        corrupt: |record| if_some(rejected(record), |node| node.reasons.push("Insufficient luck".to_owned())),
        reported_as: |what| matches!(what, DifferenceKind::Reasons { .. }),
    },
    Corruption {
        name: "no further rejection",
        trace: "taints-3",
        corrupt: |record| {
            let node = record.nodes.iter_mut().flatten().find(|node| !node.also.is_empty());
            if_some(node, |node| node.also.clear())
        },
        reported_as: |what| matches!(what, DifferenceKind::Also { .. }),
    },
    Corruption {
        name: "a further rejection for another reason",
        trace: "taints-3",
        corrupt: |record| {
            let also = record.nodes.iter_mut().flatten().find_map(|node| node.also.first_mut());
            if_some(also, |also| also.reasons[0].push('!'))
        },
        reported_as: |what| matches!(what, DifferenceKind::Also { .. }),
    },
    Corruption {
        name: "another raw score",
        trace: "images-10",
        corrupt: |record| {
            let raw = feasible(record).and_then(|node| node.raw.get_mut("NodeResourcesFit"));
            if_some(raw, |raw| *raw += 1)
        },
        reported_as: |what| matches!(what, DifferenceKind::Raw { plugin, .. } if plugin == "NodeResourcesFit"),
    },
    Corruption {
        name: "another score",
        trace: "images-10",
        corrupt: |record| {
            let score = feasible(record).and_then(|node| node.scores.get_mut("ImageLocality"));
            if_some(score, |score| *score += 1)
        },
        reported_as: |what| matches!(what, DifferenceKind::Score { plugin, .. } if plugin == "ImageLocality"),
    },
    Corruption {
        name: "another total",
        trace: "images-10",
        corrupt: |record| if_some(feasible(record).and_then(|node| node.total.as_mut()), |total| *total += 1),
        reported_as: |what| matches!(what, DifferenceKind::Total { .. }),
    },
];

const CHOICES: [Corruption; 9] = [
    Corruption {
        name: "another choice",
        trace: "ports-5",
        corrupt: choose_another,
        reported_as: |what| *what == DifferenceKind::Chosen,
    },
    Corruption {
        name: "another choice than the engine's",
        trace: "ports-5",
        corrupt: choose_another,
        reported_as: |what| *what == DifferenceKind::EngineChosen,
    },
    Corruption {
        name: "no choice",
        trace: "ports-5",
        corrupt: |record| record.chosen.take().is_some(),
        reported_as: |what| *what == DifferenceKind::EngineChosen,
    },
    Corruption {
        name: "other ties",
        trace: "ports-5",
        corrupt: |record| if_some(record.ties.as_mut(), |ties| *ties += 1),
        reported_as: |what| *what == DifferenceKind::Ties,
    },
    Corruption {
        name: "other ties than the engine's",
        trace: "ports-5",
        corrupt: |record| if_some(record.ties.as_mut(), |ties| *ties += 1),
        reported_as: |what| *what == DifferenceKind::EngineTies,
    },
    Corruption {
        name: "one feasible node less than the engine found",
        trace: "ports-5",
        corrupt: |record| if_some(feasible(record), |node| node.feasible = false),
        reported_as: |what| *what == DifferenceKind::EngineFeasible,
    },
    Corruption {
        name: "a pod that fits nowhere, for another reason",
        trace: "resources-10",
        corrupt: |record| if_some(unschedulable(record), |node| node.reasons[0].push('!')),
        reported_as: |what| *what == DifferenceKind::EngineDiagnosis,
    },
    Corruption {
        name: "a pod that fits nowhere, a reason counted once more",
        trace: "resources-10",
        corrupt: |record| {
            let node = unschedulable(record);
            if_some(node, |node| node.reasons.push(node.reasons[0].clone()))
        },
        reported_as: |what| *what == DifferenceKind::EngineDiagnosis,
    },
    Corruption {
        name: "a pod that fits nowhere, because of another plugin",
        trace: "resources-10",
        corrupt: |record| if_some(unschedulable(record), |node| node.plugin = Some("NodePorts".to_owned())),
        reported_as: |what| *what == DifferenceKind::EnginePlugins,
    },
];

fn choose_another(record: &mut ScheduleRecord) -> bool {
    let nodes = record.nodes.as_deref().unwrap_or_default();
    let other =
        nodes.iter().map(|node| &node.name).find(|name| Some(*name) != record.chosen.as_ref()).cloned();
    let was_chosen = record.chosen.is_some();
    record.chosen = record.chosen.take().and(other);
    was_chosen
}

/// Corrupts the first record that has the value, and returns its step.
fn corrupt_first(trace: &mut Trace, corrupt: fn(&mut ScheduleRecord) -> bool) -> Option<usize> {
    trace.steps.iter_mut().position(|step| match step {
        TraceStep::Schedule { record, .. } => corrupt(record),
        _ => false,
    })
}

#[test]
fn every_compared_value_can_be_reported() {
    for case in PRE_FILTER_AND_SKIPS.iter().chain(&NODES).chain(&CHOICES).chain(&CLAIMS) {
        let mut trace = committed_trace(case.trace);
        let at = corrupt_first(&mut trace, case.corrupt);
        let at = at.unwrap_or_else(|| panic!("case: {}: {} has no such value", case.name, case.trace));
        // Later steps may follow from the corrupted effect; the corrupted one decides.
        trace.steps.truncate(at + 1);
        let report = replay(&trace).unwrap_or_else(|error| panic!("case: {}: {error}", case.name));
        let found = report.differences.iter().find(|it| it.step == at && (case.reported_as)(&it.what));
        let found = found.unwrap_or_else(|| panic!("case: {}: reported {:?}", case.name, report.differences));
        assert_ne!(found.recorded, found.ours, "case: {}", case.name);
        assert!(report.differences.iter().all(|it| it.step == at), "case: {}", case.name);
    }
}

#[test]
fn a_difference_prints_in_full() {
    let mut trace = committed_trace("images-10");
    let corrupt = |record: &mut ScheduleRecord| {
        let score = feasible(record).and_then(|node| node.scores.get_mut("ImageLocality"));
        if_some(score, |score| *score = 777)
    };
    let at = corrupt_first(&mut trace, corrupt).expect("some pod is scored");
    let report = replay(&trace).expect("the trace is sound");
    let [difference] = report.differences.as_slice() else { panic!("{:?}", report.differences) };
    let DifferenceKind::Score { node, .. } = &difference.what else { panic!("{difference}") };
    let expected = format!(
        "step {at}: pod {}: nodes[{node}].scores.ImageLocality: recorded 777, ours {}",
        difference.pod, difference.ours
    );
    assert_eq!(difference.to_string(), expected);
}

#[test]
fn a_plugin_that_the_profile_lacks_may_only_do_nothing() {
    let replayed = |corrupt: fn(&mut ScheduleRecord) -> bool| {
        let mut trace = committed_trace("taints-3");
        corrupt_first(&mut trace, corrupt).expect("the trace has such a record");
        replay(&trace).expect("the trace is sound").differences
    };
    let skipped = replayed(|record| {
        record.skip_filter.push("Unheard".to_owned());
        record.skip_score.push("Unheard".to_owned());
        record.chosen.is_some()
    });
    assert_eq!(skipped, []);
    let scored_nothing = replayed(|record| {
        if_some(feasible(record), |node| {
            node.raw.insert("Unheard".to_owned(), 0);
            node.scores.insert("Unheard".to_owned(), 0);
        })
    });
    assert_eq!(scored_nothing, []);
    let scored = replayed(|record| {
        if_some(feasible(record), |node| {
            node.scores.insert("Unheard".to_owned(), 8);
        })
    });
    assert!(
        matches!(&scored[..], [TraceDifference { what: DifferenceKind::Score { plugin, .. }, .. }] if plugin == "Unheard")
    );
    let rejected = replayed(|record| {
        if_some(rejected(record), |node| {
            let reasons = vec!["unheard of".to_owned()];
            let plugin = Some("Unheard".to_owned());
            node.also.push(RejectionRecord { plugin, code: "Unschedulable".to_owned(), reasons });
        })
    });
    assert!(matches!(&rejected[..], [TraceDifference { what: DifferenceKind::Also { .. }, .. }]));
}

#[test]
fn differences_beyond_the_limit_are_counted() {
    let mut report = TraceReport::default();
    let difference = TraceDifference {
        step: 0,
        pod: "default/p".to_owned(),
        what: DifferenceKind::Chosen,
        recorded: "a".to_owned(),
        ours: "b".to_owned(),
    };
    for _ in 0..DIFFERENCES_KEPT_MAX + 3 {
        report.add(difference.clone());
    }
    assert_eq!(report.differences.len(), DIFFERENCES_KEPT_MAX);
    assert_eq!(report.difference_count, DIFFERENCES_KEPT_MAX as u64 + 3);
    assert!(!report.is_exact());
}

fn allocation(record: &mut ScheduleRecord) -> Option<&mut serde_json::Value> {
    record.claims.iter_mut().find_map(|claim| claim.allocation.as_mut())
}

const CLAIMS: [Corruption; 10] = [
    Corruption {
        name: "another device on a feasible node",
        trace: "dra-2",
        corrupt: |record| {
            let devices = feasible(record).and_then(|node| node.devices.values_mut().next());
            if_some(devices.and_then(|devices| devices.first_mut()), |device| device.push('!'))
        },
        reported_as: |what| matches!(what, DifferenceKind::Devices { .. }),
    },
    Corruption {
        name: "a claim gets another device",
        trace: "dra-2",
        corrupt: |record| {
            if_some(allocation(record), |it| it["devices"]["results"][0]["device"] = "another".into())
        },
        reported_as: |what| *what == DifferenceKind::Claims,
    },
    Corruption {
        name: "a claim is for all nodes",
        trace: "dra-2",
        corrupt: |record| if_some(allocation(record), |it| it["nodeSelector"] = serde_json::Value::Null),
        reported_as: |what| *what == DifferenceKind::Claims,
    },
    Corruption {
        name: "configuration for another request",
        trace: "dra-2",
        corrupt: |record| {
            let config = allocation(record).and_then(|it| it.pointer_mut("/devices/config/0"));
            if_some(config, |config| config["requests"] = serde_json::json!(["another"]))
        },
        reported_as: |what| *what == DifferenceKind::Claims,
    },
    Corruption {
        name: "a share takes another amount",
        trace: "dra-16",
        corrupt: |record| {
            let mut results = record.claims.iter_mut().filter_map(|claim| claim.allocation.as_mut());
            let consumed = results.find_map(|it| it.pointer_mut("/devices/results/0/consumedCapacity"));
            if_some(consumed, |consumed| consumed["bandwidth"] = "7777".into())
        },
        reported_as: |what| *what == DifferenceKind::Claims,
    },
    Corruption {
        name: "a container uses another request",
        trace: "dra-2",
        corrupt: |record| {
            let mapping = record.claims.iter_mut().find_map(|claim| claim.request_mappings.first_mut());
            if_some(mapping, |mapping| mapping.request_name.push('!'))
        },
        reported_as: |what| *what == DifferenceKind::Claims,
    },
    Corruption {
        name: "a claim has the pod already",
        trace: "dra-1",
        corrupt: |record| {
            let mut claims = record.claims.iter_mut();
            let shared = claims.find(|it| it.allocation.is_none() && !it.already_reserved);
            if_some(shared, |claim| claim.already_reserved = true)
        },
        reported_as: |what| *what == DifferenceKind::Claims,
    },
    Corruption {
        name: "PreEnqueue lets the pod pass",
        trace: "dra-3",
        corrupt: |record| record.pre_enqueue.take().is_some(),
        reported_as: |what| *what == DifferenceKind::PreEnqueue,
    },
    Corruption {
        name: "PostFilter takes nothing back",
        trace: "dra-13",
        corrupt: |record| record.post_filter.take().is_some(),
        reported_as: |what| *what == DifferenceKind::PostFilter,
    },
    Corruption {
        name: "the cycle went on",
        trace: "dra-2",
        corrupt: |record| std::mem::take(&mut record.aborted),
        reported_as: |what| *what == DifferenceKind::Aborted,
    },
];
