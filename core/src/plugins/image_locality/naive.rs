//! ImageLocality: nodes that already have the pod's images are better, the larger and the more
//! widespread the images, the more.
//!
//! Upstream: plugins/imagelocality/image_locality.go; backend/cache/cache.go `addNodeImageStates`
//! and `removeNodeImageStates`.

use std::collections::{BTreeMap, BTreeSet};

use crate::fake::{self, Feature};
use crate::framework::args::PluginArgs;
use crate::input::{NodeInput, PodInput, VolumeInput, VolumeSourceInput};
use crate::naive::bench::{BenchPod, plain};
use crate::naive::plugin_twin::{Fakes, PluginTwin, ScoreTwin, always_score, any_node, as_it_is};
use crate::naive::{NODE_SCORE_MAX, NaiveCluster, NaiveNode};

/// The twin.
pub(super) const TWIN: PluginTwin = PluginTwin {
    filter: None,
    score: Some(ScoreTwin {
        pre_score: always_score,
        score: |asked, _, node| score(asked.pod, asked.cluster, node),
        normalize: as_it_is,
        benches: || vec![BenchPod::new("image_locality", plain())],
    }),
    fakes: Fakes {
        node: |rng, node| {
            if rng.uses(Feature::Images) {
                node.images = (0..rng.range(1..=4)).map(|_| fake::image(rng)).collect();
            }
        },
        pod: |rng, pod| {
            if rng.uses(Feature::ImageVolumes) {
                let source = VolumeSourceInput::Image { reference: fake::image_name(rng) };
                pod.volumes.push(VolumeInput { name: "v0".to_owned(), source });
            }
        },
        pending_pod: |_, _| {},
        args: |_| PluginArgs::none(),
    },
    bench_node: any_node,
};

const MIB: i64 = 1024 * 1024;
/// Below this, images are not worth a thought.
const SUM_BYTES_MIN: i64 = 23 * MIB;
/// No image counts for more.
const IMAGE_BYTES_MAX: i64 = 1000 * MIB;

/// What is known about image names across the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NaiveImageStates {
    by_name: BTreeMap<String, NaiveImageState>,
}

/// An image name: the size that the first node reported, and who has it. It is forgotten when no
/// node has it any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NaiveImageState {
    /// As reported by the node whose arrival made the entry.
    pub size_bytes: i64,
    /// The nodes that have it.
    pub nodes: BTreeSet<String>,
}

impl NaiveImageStates {
    /// Counts the images of a node that arrives.
    pub fn add_node(&mut self, node: &NodeInput) {
        for image in &node.images {
            for name in &image.names {
                let state = self.by_name.entry(name.clone()).or_insert_with(|| NaiveImageState {
                    size_bytes: image.size_bytes,
                    nodes: BTreeSet::new(),
                });
                state.nodes.insert(node.name.clone());
            }
        }
    }

    /// Discounts the images of a node that leaves, as it was last seen. A node that changes leaves
    /// and arrives.
    pub fn remove_node(&mut self, node: &NodeInput) {
        for name in node.images.iter().flat_map(|image| &image.names) {
            if let Some(state) = self.by_name.get_mut(name) {
                state.nodes.remove(&node.name);
            }
        }
        self.by_name.retain(|_, state| !state.nodes.is_empty());
    }

    /// The entry of an image name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&NaiveImageState> {
        self.by_name.get(name)
    }
}

/// How much of the pod's images is on the node.
#[must_use]
pub fn score(pod: &PodInput, cluster: &NaiveCluster, node: &NaiveNode) -> i64 {
    let images = images_of(pod);
    let sum_bytes: i64 = images
        .iter()
        .filter(|image| has_image(node, image))
        .filter_map(|image| cluster.images.get(image))
        .map(|state| {
            let spread = state.nodes.len() as f64 / cluster.nodes.len() as f64;
            (state.size_bytes as f64 * spread) as i64
        })
        .sum();
    let sum_bytes_max = IMAGE_BYTES_MAX * images.len() as i64;
    // Not a clamp: a pod without images has its most below its least.
    let sum_bytes = if sum_bytes < SUM_BYTES_MIN { SUM_BYTES_MIN } else { sum_bytes.min(sum_bytes_max) };
    NODE_SCORE_MAX * (sum_bytes - SUM_BYTES_MIN) / (sum_bytes_max - SUM_BYTES_MIN)
}

/// The images of init containers, containers and image volumes; one that occurs twice counts twice.
fn images_of(pod: &PodInput) -> Vec<String> {
    let containers = pod.init_containers.iter().chain(&pod.containers);
    let volumes = pod.volumes.iter().filter_map(|volume| match &volume.source {
        VolumeSourceInput::Image { reference } => Some(reference),
        _ => None,
    });
    containers.map(|container| &container.image).chain(volumes).map(|image| normalized_name(image)).collect()
}

/// An image without a tag is the latest. A colon before the last slash belongs to a registry's
/// port.
fn normalized_name(image: &str) -> String {
    if image.rfind(':') <= image.rfind('/') { format!("{image}:latest") } else { image.to_owned() }
}

fn has_image(node: &NaiveNode, image: &str) -> bool {
    node.input.images.iter().any(|on_node| on_node.names.iter().any(|name| name == image))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{ContainerInput, ImageInput, VolumeInput};
    use crate::testkit::{bare_node, container, strings};

    fn node_with(name: &str, images: &[(&[&str], i64)]) -> NodeInput {
        NodeInput {
            images: images
                .iter()
                .map(|(names, mib)| ImageInput { names: strings(names), size_bytes: mib * MIB })
                .collect(),
            ..bare_node(name)
        }
    }

    fn containers(images: &[&str]) -> Vec<ContainerInput> {
        images.iter().map(|image| ContainerInput { image: (*image).to_owned(), ..container(&[]) }).collect()
    }

    fn scores(pod: &PodInput, nodes: Vec<NodeInput>) -> Vec<i64> {
        let cluster = NaiveCluster::new(nodes);
        cluster.nodes.iter().map(|node| score(pod, &cluster, node)).collect()
    }

    #[test]
    fn score_cases() {
        struct Case {
            name: &'static str,
            init: &'static [&'static str],
            main: &'static [&'static str],
            volumes: &'static [&'static str],
            nodes: Vec<NodeInput>,
            scores: Vec<i64>,
        }
        #[rustfmt::skip]
        let cases = [
            Case {
                // Of one image, 1000 MiB would be all: (250/2 - 23) and (40/2 - 23 < 0).
                name: "the larger image counts more",
                init: &[], main: &["big:1"], volumes: &[],
                nodes: vec![node_with("a", &[(&["small:1"], 40)]), node_with("b", &[(&["big:1"], 250)])],
                scores: vec![0, (125 - 23) * 100 / (1000 - 23)],
            },
            Case {
                name: "both images on one node",
                init: &[], main: &["x:1", "y:1"], volumes: &[],
                nodes: vec![node_with("a", &[(&["x:1"], 200), (&["y:1"], 300)]), node_with("b", &[])],
                scores: vec![(250 - 23) * 100 / (2000 - 23), 0],
            },
            Case {
                name: "an image on more nodes counts more",
                init: &[], main: &["x:1"], volumes: &[],
                nodes: vec![node_with("a", &[(&["x:1"], 200)]), node_with("b", &[(&["x:1"], 200)])],
                scores: vec![(200 - 23) * 100 / (1000 - 23), (200 - 23) * 100 / (1000 - 23)],
            },
            Case {
                name: "not beyond the limit",
                init: &[], main: &["x:1"], volumes: &[],
                nodes: vec![node_with("a", &[(&["x:1"], 4000)]), node_with("b", &[])],
                scores: vec![100, 0],
            },
            Case {
                name: "the limit grows with the number of images",
                init: &[], main: &["x:1", "y:1"], volumes: &[],
                nodes: vec![node_with("a", &[(&["x:1"], 1000)])],
                scores: vec![(1000 - 23) * 100 / (2000 - 23)],
            },
            Case {
                name: "small images count for nothing",
                init: &[], main: &["x:1", "y:1"], volumes: &[],
                nodes: vec![node_with("a", &[(&["x:1"], 10), (&["y:1"], 12)])],
                scores: vec![0],
            },
            Case {
                name: "init containers count",
                init: &["x:1"], main: &["y:1"], volumes: &[],
                nodes: vec![node_with("a", &[(&["x:1"], 500)]), node_with("b", &[(&["y:1"], 100)])],
                scores: vec![(250 - 23) * 100 / (2000 - 23), (50 - 23) * 100 / (2000 - 23)],
            },
            Case {
                name: "image volumes count",
                init: &[], main: &["y:1"], volumes: &["x:1"],
                nodes: vec![node_with("a", &[(&["x:1"], 500)]), node_with("b", &[(&["y:1"], 100)])],
                scores: vec![(250 - 23) * 100 / (2000 - 23), (50 - 23) * 100 / (2000 - 23)],
            },
            Case {
                name: "the same image twice counts twice",
                init: &[], main: &["x:1", "x:1"], volumes: &[],
                nodes: vec![node_with("a", &[(&["x:1"], 500)])],
                scores: vec![(1000 - 23) * 100 / (2000 - 23)],
            },
            Case {
                name: "no tag means latest",
                init: &[], main: &["x"], volumes: &[],
                nodes: vec![node_with("a", &[(&["x:latest", "x@sha256:0"], 500)]), node_with("b", &[(&["x"], 500)])],
                scores: vec![(250 - 23) * 100 / (1000 - 23), 0],
            },
            Case {
                name: "a pod without images",
                init: &[], main: &[], volumes: &[],
                nodes: vec![node_with("a", &[(&["x:1"], 500)])],
                scores: vec![0],
            },
        ];
        for case in cases {
            let volumes = case.volumes.iter().map(|reference| VolumeInput {
                name: "v".to_owned(),
                source: VolumeSourceInput::Image { reference: (*reference).to_owned() },
            });
            let pod = PodInput {
                init_containers: containers(case.init),
                containers: containers(case.main),
                volumes: volumes.collect(),
                ..Default::default()
            };
            assert_eq!(scores(&pod, case.nodes), case.scores, "case: {}", case.name);
        }
    }

    #[test]
    fn normalized_name_cases() {
        for (image, normalized) in [
            ("root", "root:latest"),
            ("root:tag", "root:tag"),
            ("host:5000/root", "host:5000/root:latest"),
            ("host:5000/root:tag", "host:5000/root:tag"),
            ("root@sha256:0123", "root@sha256:0123"),
            ("", ":latest"),
        ] {
            assert_eq!(normalized_name(image), normalized, "{image}");
        }
    }

    #[test]
    fn first_reported_image_size_stays_until_the_image_is_removed() {
        let mut images = NaiveImageStates::default();
        let size_mib = |images: &NaiveImageStates| images.get("x:1").map(|s| s.size_bytes / MIB);
        let first = node_with("a", &[(&["x:1", "x:1"], 100)]);
        let second = node_with("b", &[(&["x:1"], 200)]);
        images.add_node(&first);
        images.add_node(&second);
        assert_eq!(size_mib(&images), Some(100));
        assert_eq!(images.get("x:1").map(|s| s.nodes.len()), Some(2));
        images.remove_node(&first);
        assert_eq!(size_mib(&images), Some(100));
        images.remove_node(&second);
        assert_eq!(size_mib(&images), None);
        images.add_node(&second);
        images.add_node(&first);
        assert_eq!(size_mib(&images), Some(200));
    }
}
