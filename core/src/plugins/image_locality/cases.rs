//! Cases that ImageLocality and its plain twin are held to alike.

use crate::input::{ContainerInput, ImageInput, NodeInput, PodInput};
use crate::naive::cases::{Cases, PluginCase};
use crate::testkit::{large_node, pod};

pub(super) const CASES: Cases = Cases { filter: None, score: Some(score_cases), hints: Vec::new };

fn score_cases() -> Vec<PluginCase> {
    const MIB: i64 = 1024 * 1024;
    let with = |name, mib: i64| NodeInput {
        images: vec![ImageInput { names: vec!["web:1".to_owned()], size_bytes: mib * MIB }],
        ..large_node(name)
    };
    let running = |image: &str| PodInput {
        containers: vec![ContainerInput { image: image.to_owned(), ..ContainerInput::default() }],
        ..pod()
    };
    let nodes = [with("a", 1000), large_node("b")];
    vec![
        // Half of the nodes have it: it counts half, from 23 MiB to 1000 MiB.
        PluginCase::new("its image is on one node", &nodes, running("web:1")).scores(&[48, 0]),
        PluginCase::new("its image is nowhere", &nodes, running("db:1")).scores(&[0, 0]),
    ]
}
