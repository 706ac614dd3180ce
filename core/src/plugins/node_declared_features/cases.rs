//! Cases that NodeDeclaredFeatures and its plain twin are held to alike.

use super::hint_cases::hint_cases;
use crate::input::NodeInput;
use crate::naive::NaiveCode;
use crate::naive::cases::{Cases, PluginCase};
use crate::testkit::{PodParts, large_node, pod};

pub(super) const CASES: Cases = Cases { filter: Some(filter_cases), score: None, hints: hint_cases };

fn filter_cases() -> Vec<PluginCase> {
    let declaring =
        |name, feature: &str| NodeInput { declared_features: vec![feature.to_owned()], ..large_node(name) };
    let nodes =
        [declaring("a", "RestartAllContainersOnContainerExits"), declaring("b", "Else"), large_node("c")];
    let mut restarting = pod().cpu("1");
    restarting.containers[0].may_restart_all = true;
    let out = |name| {
        (name, NaiveCode::UnschedulableAndUnresolvable, "node(s) didn't match Pod's required features")
    };
    vec![
        PluginCase::new("asks for no feature", &nodes, pod()),
        PluginCase::new("asks for one", &nodes, restarting).rejects(&[out("b"), out("c")]),
    ]
}
