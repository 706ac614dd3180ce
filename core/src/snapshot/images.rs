//! Image presence over the cluster: how many nodes have an image, and the one size kept for it.
//!
//! Upstream: backend/cache/cache.go `addNodeImageStates`. The size is the one reported by the node
//! whose arrival created the entry, kept until no node has the image; a node update is a removal
//! followed by an arrival.

use rustc_hash::FxHashMap;

use crate::ids::Symbol;
use crate::interner::NodeImage;

/// What is known of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageState {
    /// The size kept for the name.
    pub size_bytes: i64,
    /// Nodes that have it.
    pub node_count: u32,
}

/// All images on all nodes.
#[derive(Clone, Debug, Default)]
pub struct ImageStates {
    by_name: FxHashMap<Symbol, ImageState>,
    version: u64,
}

impl ImageStates {
    /// Counts a node's images in.
    pub(crate) fn add(&mut self, images: &[NodeImage]) {
        self.for_each_name(images, |states, image| {
            states
                .entry(image.name)
                .and_modify(|state| state.node_count += 1)
                .or_insert(ImageState { size_bytes: image.size_bytes, node_count: 1 });
        });
    }

    /// Counts a node's images out.
    pub(crate) fn remove(&mut self, images: &[NodeImage]) {
        self.for_each_name(images, |states, image| {
            let Some(state) = states.get_mut(&image.name) else { return };
            debug_assert!(state.node_count > 0, "an image that is kept is some node's");
            state.node_count -= 1;
            if state.node_count == 0 {
                states.remove(&image.name);
            }
        });
    }

    /// A node that lists a name twice still counts once.
    fn for_each_name(
        &mut self,
        images: &[NodeImage],
        mut apply: impl FnMut(&mut FxHashMap<Symbol, ImageState>, &NodeImage),
    ) {
        for (at, image) in images.iter().enumerate() {
            if images[..at].iter().all(|earlier| earlier.name != image.name) {
                apply(&mut self.by_name, image);
                self.version += 1;
            }
        }
    }

    /// Panics where counts are not those of these nodes' images. See `NodeSnapshot::check`.
    pub(super) fn check<'a>(&self, nodes: impl Iterator<Item = &'a [NodeImage]>) {
        let mut counts: FxHashMap<Symbol, u32> = FxHashMap::default();
        for images in nodes {
            for (at, image) in images.iter().enumerate() {
                let is_first = images[..at].iter().all(|earlier| earlier.name != image.name);
                *counts.entry(image.name).or_default() += u32::from(is_first);
            }
        }
        assert_eq!(self.by_name.len(), counts.len(), "an image that no node has is forgotten");
        for (name, count) in counts {
            assert_eq!(
                self.get(name).map(|it| it.node_count),
                Some(count),
                "nodes that have an image are counted"
            );
        }
    }

    /// The state of an image that some node has.
    #[must_use]
    pub fn get(&self, name: Symbol) -> Option<ImageState> {
        self.by_name.get(&name).copied()
    }

    /// Changes whenever any answer of [`ImageStates::get`] may have.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }
}
