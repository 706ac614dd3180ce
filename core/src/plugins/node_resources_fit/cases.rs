//! Cases that NodeResourcesFit and its plain twin are held to alike.

use super::hint_cases::hint_cases;
use super::{NAME, ScoringStrategy, ScoringStrategyType};
use crate::framework::args::{NodeResourcesFitArgs, PluginArgs};
use crate::naive::NaiveCode;
use crate::naive::cases::{Cases, PluginCase};
use crate::testkit::{PodParts, large_node, pod};

pub(super) const CASES: Cases =
    Cases { filter: Some(filter_cases), score: Some(score_cases), hints: hint_cases };

fn filter_cases() -> Vec<PluginCase> {
    let nodes = [large_node("a"), large_node("b")];
    let case = |name, cpu| PluginCase::new(name, &nodes, pod().cpu(cpu)).with(&[("a", pod().cpu("6"))]);
    let full = ("a", NaiveCode::Unschedulable, "Insufficient cpu");
    let never = |name| (name, NaiveCode::UnschedulableAndUnresolvable, "Insufficient cpu");
    vec![
        case("fits exactly", "4").all_fit(),
        case("no room beside a pod", "5").rejects(&[full]),
        case("more than a node has", "11").rejects(&[never("a"), never("b")]),
    ]
}

fn score_cases() -> Vec<PluginCase> {
    let nodes = [large_node("a"), large_node("b")];
    let by = |strategy| {
        let scoring_strategy = ScoringStrategy { strategy, resources: vec![("cpu".to_owned(), 1)] };
        PluginArgs::NodeResourcesFit(NodeResourcesFitArgs { scoring_strategy, ..Default::default() })
    };
    let case = |name, strategy| {
        PluginCase::new(name, &nodes, pod().cpu("1"))
            .with(&[("a", pod().cpu("4"))])
            .with_args(NAME, by(strategy))
    };
    vec![
        case("least allocated", ScoringStrategyType::LeastAllocated).scores(&[50, 90]),
        case("most allocated", ScoringStrategyType::MostAllocated).scores(&[50, 10]),
        case("a shape", ScoringStrategyType::RequestedToCapacityRatio(vec![(0, 100), (100, 0)]))
            .scores(&[50, 90]),
    ]
}
