//! The node snapshot: one column per attribute, in list order.
//!
//! ```text
//! NodeId ──row_of──▶ row ──▶ name[row] allocatable_cpu_milli[row] taint_set[row] ...
//!   (stable)          (moves when the node list changes; valid after `settle`)
//! ```
//!
//! Rows stand in the order in which upstream tries nodes, so that "the next nodes from the start
//! index" are neighbours in memory and in the masks. A change of the node list moves rows; that is
//! done once, by [`NodeSnapshot::settle`], before the next cycle.
//!
//! A name that pods refer to keeps its [`NodeId`] while the node is absent: the pods of a node that
//! comes back count again (upstream keeps such "imaginary" nodes in its cache).

mod checks;
pub mod images;
pub mod mask;
pub mod order;
pub mod ports;
#[cfg(test)]
pub(crate) mod tests;

use rustc_hash::FxHashMap;

use crate::class::PodClass;
use crate::class::features::FeatureSet;
use crate::ids::{ImageSetId, LabelSetId, NodeId, Symbol, TaintSetId};
use crate::input::NodeInput;
use crate::interner::{EMPTY, NO_IMAGES, NO_TAINTS, Vocabulary};
use crate::kernels::Level;
use crate::kernels::shares::evenness;
use crate::reclaim::{Marks, cut, give_back};
use crate::resources::{Amounts, ResourceKind, ScalarId};

use images::ImageStates;
use mask::{NodeMask, WORD_BITS};
use order::{NodeOrder, NodeOrdering, ZoneKey};
use ports::PortUse;

const ABSENT: u32 = u32::MAX;

macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        /// Attributes of nodes by row.
        #[derive(Clone, Debug, Default)]
        pub struct NodeColumns {
            $($(#[$doc])* pub $name: Vec<$type>,)*
            /// `spec.unschedulable`.
            pub unschedulable: NodeMask,
            /// Nodes with taints, of whatever effect.
            pub tainted: NodeMask,
            /// Nodes that list images.
            pub with_images: NodeMask,
            /// What kernels over these columns are compiled for.
            pub level: Level,
            scalars: Vec<ScalarColumn>,
        }

        /// One node's worth of columns.
        #[derive(Clone, Copy, Debug, Default)]
        struct NodeRow { $($name: $type,)* }

        impl NodeColumns {
            fn push(&mut self, row: NodeRow) {
                $(self.$name.push(row.$name);)*
            }

            fn set(&mut self, at: usize, row: NodeRow) {
                $(self.$name[at] = row.$name;)*
            }

            fn get(&self, at: usize) -> NodeRow {
                NodeRow { $($name: self.$name[at],)* }
            }

            /// Panics if a column is not as long as the others.
            fn check_lengths(&self, rows: usize) {
                $(assert_eq!(self.$name.len(), rows, "column `{}` has a value for each row", stringify!($name));)*
            }

            /// Row `i` becomes what row `from[i]` was.
            fn gather(&mut self, from: &[usize]) {
                $(self.$name = from.iter().map(|&row| self.$name[row]).collect();)*
            }
        }
    };
}

columns! {
    /// `metadata.name`.
    name: Symbol,
    /// The stable id.
    id: NodeId,
    /// `metadata.labels`.
    label_set: LabelSetId,
    /// `spec.taints`.
    taint_set: TaintSetId,
    /// `status.images`.
    image_set: ImageSetId,
    /// `status.declaredFeatures`.
    declared_features: FeatureSet,
    /// Allocatable milli-CPU.
    allocatable_cpu_milli: i64,
    /// Allocatable memory.
    allocatable_memory_bytes: i64,
    /// Allocatable ephemeral storage.
    allocatable_ephemeral_bytes: i64,
    /// Allocatable pods.
    allocatable_pods: i64,
    /// Milli-CPU that the node's pods request.
    requested_cpu_milli: i64,
    /// Memory that the node's pods request.
    requested_memory_bytes: i64,
    /// Ephemeral storage that the node's pods request.
    requested_ephemeral_bytes: i64,
    /// Milli-CPU requested, with defaults for containers that ask for none.
    nonzero_cpu_milli: i64,
    /// Memory requested, with defaults for containers that ask for none.
    nonzero_memory_bytes: i64,
    /// Pods on the node.
    pod_count: i64,
    /// How evenly CPU and memory are taken: what BalancedAllocation compares with.
    evenness: i64,
}

/// A scalar resource by row.
#[derive(Clone, Debug, Default)]
struct ScalarColumn {
    allocatable: Vec<i64>,
    requested: Vec<i64>,
}

impl NodeColumns {
    /// Allocatable amount of a resource on a row.
    #[inline]
    #[must_use]
    pub fn allocatable(&self, kind: ResourceKind, row: usize) -> i64 {
        match kind {
            ResourceKind::Cpu => self.allocatable_cpu_milli[row],
            ResourceKind::Memory => self.allocatable_memory_bytes[row],
            ResourceKind::EphemeralStorage => self.allocatable_ephemeral_bytes[row],
            ResourceKind::Scalar(id) => self.scalar(id).map_or(0, |column| column.allocatable[row]),
        }
    }

    /// Requested amount of a resource on a row.
    #[inline]
    #[must_use]
    pub fn requested(&self, kind: ResourceKind, row: usize) -> i64 {
        match kind {
            ResourceKind::Cpu => self.requested_cpu_milli[row],
            ResourceKind::Memory => self.requested_memory_bytes[row],
            ResourceKind::EphemeralStorage => self.requested_ephemeral_bytes[row],
            ResourceKind::Scalar(id) => self.scalar(id).map_or(0, |column| column.requested[row]),
        }
    }

    /// Requested amount with defaults for what containers leave out.
    #[inline]
    #[must_use]
    pub fn requested_nonzero(&self, kind: ResourceKind, row: usize) -> i64 {
        match kind {
            ResourceKind::Cpu => self.nonzero_cpu_milli[row],
            ResourceKind::Memory => self.nonzero_memory_bytes[row],
            other => self.requested(other, row),
        }
    }

    /// The columns of a scalar resource: allocatable and requested, if any node or pod named it.
    #[must_use]
    pub fn scalar_slices(&self, id: ScalarId) -> Option<(&[i64], &[i64])> {
        self.scalar(id).map(|column| (column.allocatable.as_slice(), column.requested.as_slice()))
    }

    /// Amounts of a row changed.
    fn balance(&mut self, row: usize) {
        let cpu = (self.requested_cpu_milli[row], self.allocatable_cpu_milli[row]);
        let memory = (self.requested_memory_bytes[row], self.allocatable_memory_bytes[row]);
        self.evenness[row] = evenness(cpu, memory);
    }

    /// The rows of a mask word.
    #[inline]
    #[must_use]
    pub fn rows_of(&self, word: usize) -> std::ops::Range<usize> {
        word * WORD_BITS..((word + 1) * WORD_BITS).min(self.name.len())
    }

    /// One row of bits for each attribute that is a flag.
    fn masks_mut(&mut self) -> [&mut NodeMask; 3] {
        [&mut self.unschedulable, &mut self.tainted, &mut self.with_images]
    }

    fn scalar(&self, id: ScalarId) -> Option<&ScalarColumn> {
        self.scalars.get(id.index())
    }

    fn scalar_mut(&mut self, id: ScalarId) -> &mut ScalarColumn {
        let rows = self.name.len();
        while self.scalars.len() <= id.index() {
            self.scalars.push(ScalarColumn { allocatable: vec![0; rows], requested: vec![0; rows] });
        }
        &mut self.scalars[id.index()]
    }
}

/// A name that is a node, or that pods say is one.
#[derive(Clone, Debug)]
struct NodeSlot {
    name: Symbol,
    row: u32,
    zone: ZoneKey,
}

/// A change of a row: pods came or went, or the node itself changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowChange(u32);

impl RowChange {
    const ATTRIBUTES: u32 = 1 << 31;

    /// Pods of a row came or went.
    fn of_pods(row: usize) -> RowChange {
        let row = u32::try_from(row).expect("rows fit u32");
        debug_assert!(row < RowChange::ATTRIBUTES, "fewer than 2^31 nodes");
        RowChange(row)
    }

    /// The node of a row changed.
    fn of_node(row: usize) -> RowChange {
        RowChange(RowChange::of_pods(row).0 | RowChange::ATTRIBUTES)
    }

    /// The row.
    #[inline]
    #[must_use]
    pub fn row(self) -> usize {
        (self.0 & !RowChange::ATTRIBUTES) as usize
    }

    /// Labels, taints, amounts or other attributes of the node may differ.
    #[inline]
    #[must_use]
    pub fn is_of_attributes(self) -> bool {
        self.0 & RowChange::ATTRIBUTES != 0
    }
}

/// Rows that changed, oldest first, so that caches re-evaluate only those.
#[derive(Clone, Debug, Default)]
struct ChangeLog {
    changes: Vec<RowChange>,
    /// Sequence number of `changes[0]`.
    base: u64,
}

/// All nodes.
#[derive(Clone, Debug, Default)]
pub struct NodeSnapshot {
    columns: NodeColumns,
    slots: Vec<NodeSlot>,
    by_name: FxHashMap<Symbol, NodeId>,
    /// Ids of names that nothing speaks of any more, to be given out again.
    free: Vec<u32>,
    order: NodeOrder,
    order_is_stale: bool,
    ports: PortUse,
    images: ImageStates,
    changes: ChangeLog,
    structure_version: u64,
    attributes_version: u64,
}

impl NodeSnapshot {
    /// A snapshot of no nodes whose list will have this order.
    #[must_use]
    pub fn with_ordering(ordering: NodeOrdering) -> NodeSnapshot {
        NodeSnapshot { order: NodeOrder::new(ordering), ..NodeSnapshot::default() }
    }

    /// The columns. Rows are in list order only after [`NodeSnapshot::settle`].
    #[inline]
    #[must_use]
    pub fn columns(&self) -> &NodeColumns {
        &self.columns
    }

    /// Nodes in the list.
    #[inline]
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.columns.name.len()
    }

    /// Host ports in use.
    #[inline]
    #[must_use]
    pub fn ports(&self) -> &PortUse {
        &self.ports
    }

    /// Images over all nodes.
    #[inline]
    #[must_use]
    pub fn images(&self) -> &ImageStates {
        &self.images
    }

    /// The id of a name, known or not: pods may name a node before it exists.
    pub fn id_of(&mut self, name: Symbol) -> NodeId {
        if let Some(&id) = self.by_name.get(&name) {
            return id;
        }
        let slot = NodeSlot { name, row: ABSENT, zone: ZoneKey::default() };
        let id = match self.free.pop() {
            Some(id) => {
                self.slots[id as usize] = slot;
                id
            }
            None => {
                self.slots.push(slot);
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 node names")
            }
        };
        self.by_name.insert(name, NodeId(id));
        NodeId(id)
    }

    /// Marks what nodes refer to.
    pub(crate) fn mark(&mut self, marks: &mut Marks) {
        let columns = &self.columns;
        columns.name.iter().for_each(|&id| marks.symbol(id));
        columns.id.iter().for_each(|&id| marks.node(id));
        columns.label_set.iter().for_each(|&id| marks.label_set(id));
        columns.taint_set.iter().for_each(|&id| marks.taint_set(id));
        columns.image_set.iter().for_each(|&id| marks.image_set(id));
        for (at, column) in columns.scalars.iter().enumerate() {
            if column.allocatable.iter().chain(&column.requested).any(|&amount| amount != 0) {
                marks.scalars.insert(at);
            }
        }
        self.ports.sweep(marks);
    }

    /// Forgets names that nothing speaks of. Returns how many ids there are.
    pub(crate) fn sweep(&mut self, marks: &mut Marks) -> usize {
        let mut freed = Vec::new();
        self.by_name.retain(|&name, id| {
            let stays = marks.nodes.contains(id.index());
            if stays {
                marks.symbol(name);
            } else {
                freed.push(id.0);
            }
            stays
        });
        freed.iter().for_each(|&id| self.slots[id as usize].name = EMPTY);
        let len = give_back(&mut self.free, freed, self.slots.len());
        cut(&mut self.slots, len);
        self.by_name.shrink_to(2 * self.by_name.len());
        // What was worked out about nodes speaks of classes and domains that may be other ones now.
        self.structure_version += 1;
        self.attributes_version += 1;
        len
    }

    /// The id of a name that was heard of.
    #[must_use]
    pub fn find(&self, name: Symbol) -> Option<NodeId> {
        self.by_name.get(&name).copied()
    }

    /// The row of a node that is in the list.
    #[inline]
    #[must_use]
    pub fn row_of(&self, id: NodeId) -> Option<usize> {
        match self.slots[id.index()].row {
            ABSENT => None,
            row => Some(row as usize),
        }
    }

    /// The name behind an id.
    #[must_use]
    pub fn name_of(&self, id: NodeId) -> Symbol {
        self.slots[id.index()].name
    }

    /// Adds a node or takes over its new attributes. The caller counts the node's pods in again
    /// when this returns [`Upsert::Added`].
    pub(crate) fn upsert(&mut self, node: &NodeInput, vocabulary: &mut Vocabulary) -> (NodeId, Upsert) {
        let id = self.id_of(vocabulary.symbols.intern(&node.name));
        let zone = self.order.zone_of(&node.labels, &mut vocabulary.symbols);
        let upsert = match self.row_of(id) {
            Some(row) => {
                if self.slots[id.index()].zone != zone {
                    let old = std::mem::replace(&mut self.slots[id.index()].zone, zone);
                    self.order.remove(id, old);
                    self.order.add(id, zone);
                    self.order_is_stale = true;
                }
                self.note(RowChange::of_node(row));
                Upsert::Updated
            }
            None => {
                self.append(id, zone);
                Upsert::Added
            }
        };
        let row = self.row_of(id).expect("the node was just put into the list");
        debug_assert_eq!(self.columns.id[row], id, "a node's attributes go to its own row");
        self.write_attributes(row, node, vocabulary);
        (id, upsert)
    }

    fn append(&mut self, id: NodeId, zone: ZoneKey) {
        self.order_is_stale |= !self.order.appends(zone);
        self.order.add(id, zone);
        let row = self.node_count();
        let slot = &mut self.slots[id.index()];
        slot.zone = zone;
        slot.row = u32::try_from(row).expect("fewer than 2^32 nodes");
        let name = slot.name;
        self.columns.push(NodeRow { name, id, ..NodeRow::default() });
        for column in &mut self.columns.scalars {
            column.allocatable.push(0);
            column.requested.push(0);
        }
        self.resize_masks();
        self.structure_version += 1;
        self.attributes_version += 1;
    }

    fn resize_masks(&mut self) {
        let node_count = self.node_count();
        for mask in self.columns.masks_mut() {
            mask.grow(node_count);
        }
        self.ports.grow(node_count);
    }

    fn write_attributes(&mut self, row: usize, node: &NodeInput, vocabulary: &mut Vocabulary) {
        let allocatable = Amounts::from_list(&node.allocatable, vocabulary);
        let old = self.columns.get(row);
        let label_set = vocabulary.label_set(&node.labels);
        let taint_set = vocabulary.taint_set(&node.taints);
        if (old.label_set, old.taint_set) != (label_set, taint_set) {
            self.attributes_version += 1;
        }
        let images = vocabulary.image_set(&node.images);
        self.images.remove(vocabulary.images(old.image_set));
        self.images.add(vocabulary.images(images));
        self.columns.set(
            row,
            NodeRow {
                label_set,
                taint_set,
                image_set: images,
                declared_features: FeatureSet::declared(&node.declared_features),
                allocatable_cpu_milli: allocatable.cpu_milli,
                allocatable_memory_bytes: allocatable.memory_bytes,
                allocatable_ephemeral_bytes: allocatable.ephemeral_bytes,
                allocatable_pods: node.allocatable.get("pods").map_or(0, |pods| pods.value()),
                ..old
            },
        );
        self.columns.balance(row);
        for column in &mut self.columns.scalars {
            column.allocatable[row] = 0;
        }
        for &(id, amount) in &allocatable.scalars {
            self.columns.scalar_mut(id).allocatable[row] = amount;
        }
        self.columns.unschedulable.set(row, node.unschedulable);
        self.columns.tainted.set(row, taint_set != NO_TAINTS);
        self.columns.with_images.set(row, images != NO_IMAGES);
    }

    /// Takes a node out of the list. Its pods stay known under its id.
    pub(crate) fn remove(&mut self, id: NodeId, vocabulary: &Vocabulary) {
        let Some(row) = self.row_of(id) else { return };
        self.images.remove(vocabulary.images(self.columns.image_set[row]));
        let zone = std::mem::take(&mut self.slots[id.index()].zone);
        // The zone's later nodes move up a turn, past nodes of other zones.
        self.order_is_stale |= !self.order.has_one_zone();
        self.order.remove(id, zone);
        self.slots[id.index()].row = ABSENT;
        let kept: Vec<usize> = (0..self.node_count()).filter(|&other| other != row).collect();
        self.gather(&kept);
        debug_assert!(self.row_of(id).is_none(), "a node that left has no row");
    }

    /// Puts rows into list order. Call before reading rows; cheap when the list did not change.
    pub fn settle(&mut self) {
        if !self.order_is_stale {
            return;
        }
        self.order_is_stale = false;
        let mut order = Vec::with_capacity(self.node_count());
        self.order.list_into(&mut order);
        assert_eq!(order.len(), self.node_count());
        let from: Vec<usize> = order.iter().map(|&id| self.slots[id.index()].row as usize).collect();
        if from.iter().enumerate().any(|(row, &old)| row != old) {
            self.gather(&from);
        }
    }

    /// Row `i` becomes what row `from[i]` was.
    fn gather(&mut self, from: &[usize]) {
        assert!(from.len() <= self.node_count(), "rows are moved or dropped, not made");
        self.columns.gather(from);
        for column in &mut self.columns.scalars {
            column.allocatable = from.iter().map(|&row| column.allocatable[row]).collect();
            column.requested = from.iter().map(|&row| column.requested[row]).collect();
        }
        for mask in self.columns.masks_mut() {
            *mask = gather_mask(mask, from);
        }
        self.ports.gather(from);
        for (row, id) in self.columns.id.iter().enumerate() {
            self.slots[id.index()].row = u32::try_from(row).expect("rows fit u32");
        }
        self.structure_version += 1;
        self.attributes_version += 1;
    }

    /// Counts a pod of `class` in on a row.
    pub(crate) fn add_pod(&mut self, row: usize, class: &PodClass) {
        self.account(row, class, 1);
        self.columns.balance(row);
        for &port in &class.host_ports {
            self.ports.set(row, port, true);
        }
        self.note(RowChange::of_pods(row));
    }

    /// Counts a pod of `class` out on a row.
    pub(crate) fn remove_pod(&mut self, row: usize, class: &PodClass) {
        self.account(row, class, -1);
        self.columns.balance(row);
        for &port in &class.host_ports {
            self.ports.set(row, port, false);
        }
        self.note(RowChange::of_pods(row));
    }

    /// Counts a pod in (`sign` 1) or out (-1) without a note in the change log, for whoever undoes
    /// it before anybody who keeps things could read it, or anybody scores. Appends to `ports` which of
    /// its ports were used before.
    pub(crate) fn suppose(&mut self, row: usize, class: &PodClass, sign: i64, ports: &mut Vec<bool>) {
        self.account(row, class, sign);
        ports.extend(class.host_ports.iter().map(|&port| self.ports.set(row, port, sign > 0)));
    }

    /// Undoes the last [`NodeSnapshot::suppose`].
    pub(crate) fn undo(&mut self, row: usize, class: &PodClass, sign: i64, ports: &mut Vec<bool>) {
        self.account(row, class, -sign);
        for &port in class.host_ports.iter().rev() {
            let used = ports.pop().expect("one note for each port");
            self.ports.set(row, port, used);
        }
    }

    fn account(&mut self, row: usize, class: &PodClass, sign: i64) {
        debug_assert!(row < self.node_count(), "a pod is counted on a row that is there");
        debug_assert_eq!(sign.abs(), 1, "one pod is counted at a time");
        let columns = &mut self.columns;
        // Upstream: framework/types.go `NodeInfo.update` adds Go's int64, which wraps.
        let add = |sum: &mut i64, amount: i64| *sum = sum.wrapping_add(sign * amount);
        add(&mut columns.requested_cpu_milli[row], class.placed.cpu_milli);
        add(&mut columns.requested_memory_bytes[row], class.placed.memory_bytes);
        add(&mut columns.requested_ephemeral_bytes[row], class.placed.ephemeral_bytes);
        add(&mut columns.nonzero_cpu_milli[row], class.placed_nonzero_cpu_milli);
        add(&mut columns.nonzero_memory_bytes[row], class.placed_nonzero_memory_bytes);
        columns.pod_count[row] += sign;
        for &(id, amount) in &class.placed.scalars {
            add(&mut columns.scalar_mut(id).requested[row], amount);
        }
    }

    /// Notes that something about a row changed.
    fn note(&mut self, change: RowChange) {
        let limit = 2 * self.node_count() + 1024;
        let ChangeLog { changes, base } = &mut self.changes;
        if changes.len() >= limit {
            // Nodes may have gone since the log was this long.
            let half = changes.len() - limit / 2;
            changes.drain(..half);
            *base += half as u64;
        }
        if changes.len() == changes.capacity() {
            // All at once: cycles must not allocate as the log fills up.
            changes.reserve_exact(limit - changes.len());
        }
        debug_assert!(change.row() < self.columns.name.len(), "a change is of a row that is there");
        changes.push(change);
    }

    /// The sequence number of the next change.
    #[inline]
    #[must_use]
    pub fn change_cursor(&self) -> u64 {
        self.changes.base + self.changes.changes.len() as u64
    }

    /// What changed since `cursor`, or `None` when the log no longer reaches back so far.
    /// Rows are those of the present structure: whoever keeps a cursor also keeps the
    /// [`NodeSnapshot::structure_version`] and starts over when that moved.
    #[inline]
    #[must_use]
    pub fn changes_since(&self, cursor: u64) -> Option<&[RowChange]> {
        let at = cursor.checked_sub(self.changes.base)?;
        self.changes.changes.get(usize::try_from(at).ok()?..)
    }

    /// Moves whenever rows were added, removed or reordered.
    #[inline]
    #[must_use]
    pub fn structure_version(&self) -> u64 {
        self.structure_version
    }

    /// Moves whenever rows were added, removed or reordered, or a node got other labels or taints.
    #[inline]
    #[must_use]
    pub fn attributes_version(&self) -> u64 {
        self.attributes_version
    }

    /// Bytes held for nodes, without the vocabulary.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let row = size_of::<NodeRow>() + self.columns.scalars.len() * 2 * size_of::<i64>();
        let slot = size_of::<NodeSlot>() + size_of::<(Symbol, NodeId)>() * 2 + size_of::<NodeId>();
        self.columns.name.capacity() * row + self.slots.capacity() * slot
    }
}

/// What an upsert found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Upsert {
    Added,
    Updated,
}

/// Bit `i` becomes what bit `from[i]` was.
pub(crate) fn gather_mask(mask: &NodeMask, from: &[usize]) -> NodeMask {
    let mut gathered = NodeMask::none(from.len());
    for (row, &old) in from.iter().enumerate() {
        if old < mask.node_count() && mask.contains(old) {
            gathered.insert(row);
        }
    }
    gathered
}
