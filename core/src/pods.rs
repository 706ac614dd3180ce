//! Pods the engine knows, one row each. A row is ids and small integers; everything that replicas
//! share is in the class.
//!
//! ```text
//!          Pending ◀── the queue says where it stands
//!            │  ▲
//!  a node is │  │ any failure on the way
//!    chosen  ▼  │
//!          Assumed ──watch confirms──▶ Bound
//! ```

mod checks;
mod uid_index;

use crate::chunked::Chunked;
use crate::ids::{ClassId, NodeId, PodId, PodUid};
use crate::reclaim::{Marks, cut};
use uid_index::UidIndex;

/// How far a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodState {
    /// On no node, and ours to place.
    Pending,
    /// Placed by us, the API has not confirmed yet.
    Assumed,
    /// The API says it is on a node.
    Bound,
    /// Another scheduler's: seen, never claimed.
    Foreign,
}

const NONE: u32 = u32::MAX;

/// One pod.
#[derive(Clone, Copy, Debug)]
pub struct PodRow {
    /// Identity at the API.
    pub uid: PodUid,
    /// When it entered the active queue last.
    pub queued_ns: u64,
    /// When it was created.
    pub created_ns: u64,
    /// `status.startTime`; `i64::MAX` before it started.
    pub started_s: i64,
    /// Its class.
    pub class: ClassId,
    /// The condition last written for it, 0 for none.
    pub condition: u32,
    nominated: u32,
    nominated_seen: u32,
    node: u32,
    next_on_node: u32,
    previous_on_node: u32,
    /// How far it is.
    pub state: PodState,
    /// It is a victim of preemption: condition DisruptionTarget, reason PreemptionByScheduler.
    pub is_preempted: bool,
    /// We have asked it to go, whether or not the watch has told of it.
    pub is_asked_to_go: bool,
}

impl PodRow {
    /// The node it is assumed or bound on.
    #[must_use]
    pub fn node(&self) -> Option<NodeId> {
        (self.node != NONE).then_some(NodeId(self.node))
    }

    /// `status.nominatedNodeName`, as far as it is known or was asked for.
    #[must_use]
    pub fn nominated(&self) -> Option<NodeId> {
        (self.nominated != NONE).then_some(NodeId(self.nominated))
    }

    /// Takes over what the API says of `status.nominatedNodeName`. What it said before: that the API
    /// says the same as before is no news, whatever we have written meanwhile.
    pub(crate) fn see_nominated(&mut self, node: Option<NodeId>) -> Option<NodeId> {
        let seen = node.map_or(NONE, |node| node.0);
        let before = std::mem::replace(&mut self.nominated_seen, seen);
        (before != NONE).then_some(NodeId(before))
    }

    /// What the API said last of `status.nominatedNodeName`.
    #[must_use]
    pub fn nominated_by_api(&self) -> Option<NodeId> {
        (self.nominated_seen != NONE).then_some(NodeId(self.nominated_seen))
    }

    /// Notes what `status.nominatedNodeName` is or will be.
    pub fn set_nominated(&mut self, node: Option<NodeId>) {
        self.nominated = node.map_or(NONE, |node| node.0);
    }
}

/// All pods.
#[derive(Clone, Debug, Default)]
pub struct PodTable {
    rows: Chunked<PodRow>,
    free: Vec<PodId>,
    by_uid: UidIndex,
    /// First pod of each node, by node id.
    heads: Vec<u32>,
}

impl PodTable {
    /// Adds a pod that is on no node.
    pub fn insert(&mut self, uid: PodUid, class: ClassId, state: PodState, created_ns: u64) -> PodId {
        let row = PodRow {
            uid,
            queued_ns: created_ns,
            created_ns,
            started_s: i64::MAX,
            class,
            condition: 0,
            nominated: NONE,
            nominated_seen: NONE,
            node: NONE,
            next_on_node: NONE,
            previous_on_node: NONE,
            state,
            is_preempted: false,
            is_asked_to_go: false,
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.rows[id.index()] = row;
                id
            }
            None => {
                self.rows.push(row);
                PodId(u32::try_from(self.rows.len() - 1).expect("fewer than 2^32 pods"))
            }
        };
        assert!(self.find(uid).is_none(), "a pod is inserted once");
        self.by_uid.insert(uid, id);
        id
    }

    /// The row of a pod the API speaks of.
    #[inline]
    #[must_use]
    pub fn find(&self, uid: PodUid) -> Option<PodId> {
        self.by_uid.get(uid)
    }

    /// A pod's row.
    #[inline]
    #[must_use]
    pub fn get(&self, id: PodId) -> &PodRow {
        &self.rows[id.index()]
    }

    /// A pod's row, to be changed.
    #[inline]
    pub fn get_mut(&mut self, id: PodId) -> &mut PodRow {
        &mut self.rows[id.index()]
    }

    /// Forgets a pod that is on no node.
    pub fn remove(&mut self, id: PodId) {
        let row = self.rows[id.index()];
        assert_eq!(row.node, NONE, "a pod is taken off its node before it is forgotten");
        debug_assert_eq!(self.find(row.uid), Some(id), "a pod that is forgotten is known");
        self.by_uid.remove(row.uid);
        self.free.push(id);
    }

    /// Pods known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_uid.len()
    }

    /// No pod is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_uid.len() == 0
    }

    /// Makes room for the list of a node.
    pub(crate) fn know_node(&mut self, node: NodeId) {
        if self.heads.len() <= node.index() {
            self.heads.resize(node.index() + 1, NONE);
        }
    }

    /// Links a pod into its node's list.
    pub(crate) fn attach(&mut self, id: PodId, node: NodeId) {
        self.know_node(node);
        let head = std::mem::replace(&mut self.heads[node.index()], id.0);
        debug_assert_ne!(head, id.0, "a pod is once in its node's list");
        let row = &mut self.rows[id.index()];
        assert_eq!(row.node, NONE, "a pod is on one node at a time");
        row.node = node.0;
        row.next_on_node = head;
        row.previous_on_node = NONE;
        if head != NONE {
            self.rows[head as usize].previous_on_node = id.0;
        }
    }

    /// Takes a pod out of its node's list.
    pub(crate) fn detach(&mut self, id: PodId) {
        let row = self.rows[id.index()];
        assert_ne!(row.node, NONE, "only a pod on a node can be taken off");
        if row.previous_on_node == NONE {
            self.heads[row.node as usize] = row.next_on_node;
        } else {
            self.rows[row.previous_on_node as usize].next_on_node = row.next_on_node;
        }
        if row.next_on_node != NONE {
            self.rows[row.next_on_node as usize].previous_on_node = row.previous_on_node;
        }
        let row = &mut self.rows[id.index()];
        row.node = NONE;
        row.next_on_node = NONE;
        row.previous_on_node = NONE;
    }

    /// The pods on a node, newest first.
    pub fn on_node(&self, node: NodeId) -> impl Iterator<Item = PodId> + '_ {
        let first = self.heads.get(node.index()).copied().unwrap_or(NONE);
        std::iter::successors((first != NONE).then_some(PodId(first)), move |id| {
            let next = self.rows[id.index()].next_on_node;
            (next != NONE).then_some(PodId(next))
        })
    }

    /// All pods, in row order.
    pub fn ids(&self) -> impl Iterator<Item = PodId> + '_ {
        let is_live = |id: &PodId| self.find(self.rows[id.index()].uid) == Some(*id);
        (0..self.rows.len()).map(|at| PodId(u32::try_from(at).expect("rows fit u32"))).filter(is_live)
    }

    /// Marks what pods refer to.
    pub(crate) fn mark(&self, marks: &mut Marks) {
        for row in self.ids().map(|id| self.get(id)) {
            marks.class(row.class);
            let nodes = [row.node, row.nominated, row.nominated_seen];
            nodes.into_iter().filter(|&node| node != NONE).for_each(|node| marks.node(NodeId(node)));
        }
    }

    /// There are so many ids of nodes; the others have no pods.
    pub(crate) fn cut_nodes(&mut self, len: usize) {
        debug_assert!(self.heads.iter().skip(len).all(|&head| head == NONE), "a node that goes has no pods");
        let len = len.min(self.heads.len());
        cut(&mut self.heads, len);
    }

    /// Bytes held for pods.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.rows.memory_bytes()
            + self.by_uid.memory_bytes()
            + (self.free.capacity() + self.heads.capacity()) * size_of::<u32>()
    }
}
