//! ImageLocality: nodes that have the pod's images score by their size and spread.
//! Upstream: plugins/imagelocality/image_locality.go.

#[cfg(test)]
mod cases;
mod hints;
#[cfg(any(test, feature = "naive"))]
pub mod naive;

use std::sync::Arc;

use crate::class::PodClass;
use crate::framework::descriptor::{PluginDescriptor, no_args};
use crate::framework::plugin::{MAX_NODE_SCORE, Plugin, PreScore, Reads, ScorePlugin, SignPod, WordScores};
use crate::framework::points::EnqueueExtensions;
use crate::ids::{ImageSetId, Symbol};
use crate::interner::NO_IMAGES;
use crate::snapshot::images::ImageState;
use crate::snapshot::mask::WORD_BITS;
use crate::world::World;

/// Upstream's name.
pub const NAME: &str = "ImageLocality";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: Some(1),
    default_args: no_args,
    factory: |_, _| Ok(Arc::new(ImageLocality)),
    #[cfg(any(test, feature = "naive"))]
    twin: naive::TWIN,
    #[cfg(test)]
    cases: cases::CASES,
};

const MIB: i64 = 1024 * 1024;
/// Below this sum a node scores 0.
const MIN_THRESHOLD_BYTES: i64 = 23 * MIB;
/// At this sum per image a node scores 100.
const MAX_THRESHOLD_BYTES: i64 = 1000 * MIB;

/// A power of two, so that a set's place is its last bits.
const SETS_REMEMBERED: usize = 8;

/// Scores nodes by the images they already have.
#[derive(Clone, Copy, Debug)]
pub struct ImageLocality;

impl ImageLocality {
    fn score_set(world: &World, class: &PodClass, set: ImageSetId) -> i64 {
        let on_node = world.vocabulary.images(set);
        let node_count = world.nodes().node_count();
        let sum: i64 = class
            .images
            .iter()
            .filter(|&&wanted| on_node.iter().any(|image| image.name == wanted))
            .filter_map(|&wanted| world.nodes().images().get(wanted))
            .map(|state| scaled(state, node_count))
            .sum();
        priority(sum, class.images.len())
    }
}

/// An image that is on few nodes counts less, so that pods do not pile up there.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "upstream's own float arithmetic"
)]
fn scaled(state: ImageState, node_count: usize) -> i64 {
    let spread = f64::from(state.node_count) / node_count as f64;
    (state.size_bytes as f64 * spread) as i64
}

fn priority(sum_bytes: i64, image_count: usize) -> i64 {
    let max_bytes = MAX_THRESHOLD_BYTES * i64::try_from(image_count).expect("a pod has few images");
    // Not `clamp`: without images the upper bound is below the lower one, and upstream's order of
    // comparisons decides.
    let bounded = if sum_bytes < MIN_THRESHOLD_BYTES {
        MIN_THRESHOLD_BYTES
    } else if sum_bytes > max_bytes {
        max_bytes
    } else {
        sum_bytes
    };
    MAX_NODE_SCORE * (bounded - MIN_THRESHOLD_BYTES) / (max_bytes - MIN_THRESHOLD_BYTES)
}

impl Plugin for ImageLocality {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sign_pod(&self, _: &PodClass) -> SignPod {
        SignPod::Spec
    }

    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl ScorePlugin for ImageLocality {
    /// The node's images, and how many nodes have them: the class cache starts over when
    /// [`ImageStates::version`](crate::snapshot::images::ImageStates::version) moves.
    fn reads(&self) -> Reads {
        Reads::Static
    }

    fn pre_score(&self, _: &World, _: &PodClass) -> PreScore {
        PreScore::Run
    }

    fn score(&self, world: &World, class: &PodClass, rows: &[u32], scores: &mut [i64]) {
        let sets = &world.nodes().columns().image_set;
        let mut known = KnownSets::default();
        for (&row, score) in rows.iter().zip(scores) {
            *score = known.score(world, class, sets[row as usize]);
        }
    }

    fn score_words(
        &self,
        world: &World,
        class: &PodClass,
        (first_word, words): (usize, &[u64]),
        scores: &mut [i64],
    ) -> WordScores {
        let columns = world.nodes().columns();
        let with_images = &columns.with_images.words()[first_word..][..words.len()];
        let is_anywhere = |&image: &Symbol| world.nodes().images().get(image).is_some();
        if !class.images.iter().any(is_anywhere)
            || words.iter().zip(with_images).all(|(word, with)| word & with == 0)
        {
            return WordScores::AllZero;
        }
        let mut known = KnownSets::default();
        for (word, scores) in (first_word..first_word + words.len()).zip(scores.chunks_mut(WORD_BITS)) {
            for (&set, score) in columns.image_set[columns.rows_of(word)].iter().zip(scores) {
                *score = known.score(world, class, set);
            }
        }
        WordScores::Written
    }
}

/// Scores of the sets of images that were seen last: nodes carry few distinct sets, each is remembered in a
/// place of its own. A node without images scores 0.
#[derive(Default)]
struct KnownSets {
    scores: [(ImageSetId, i64); SETS_REMEMBERED],
}

impl KnownSets {
    #[inline]
    fn score(&mut self, world: &World, class: &PodClass, set: ImageSetId) -> i64 {
        let known = &mut self.scores[set.index() % SETS_REMEMBERED];
        if set != known.0 {
            *known = (set, ImageLocality::score_set(world, class, set));
        }
        known.1
    }
}

const _: () = assert!(NO_IMAGES.0 == 0, "the default of an id is the set of no images");
