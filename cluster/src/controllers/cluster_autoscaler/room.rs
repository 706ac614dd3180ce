//! What is left of nodes, real ones and planned ones, for pods that wait.

use std::sync::Arc;

use schedlab_core::input::NodeInput;

use super::super::amounts::{covers, subtract};
use super::super::node_rules::{NodeRules, Verdict};
use crate::quota::Amounts;

/// A node with what is left of it.
#[derive(Clone, Debug)]
pub(super) struct Room {
    pub(super) node: Arc<NodeInput>,
    pub(super) left: Amounts,
}

impl Room {
    /// Takes the pod in, if it may and can be here.
    pub(super) fn take(&mut self, rules: &mut NodeRules, asks: &Amounts) -> bool {
        let fits = covers(&self.left, asks) && rules.verdict(&self.node) == Verdict::Runs;
        if fits {
            subtract(&mut self.left, asks);
        }
        fits
    }
}
