//! Slices by name, by the node they are for, and by pool.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::pools::PoolId;
use crate::input::dra::ResourceSliceInput;

type Slices = BTreeMap<String, Arc<ResourceSliceInput>>;

/// Slices, found by what allocation looks for.
#[derive(Clone, Debug, Default)]
pub(super) struct SliceIndex {
    by_name: Slices,
    /// Those with a `nodeName`.
    of_node: FxHashMap<String, Slices>,
    /// The others.
    shared: Slices,
    of_pool: FxHashMap<PoolId, Slices>,
}

fn node_of(slice: &ResourceSliceInput) -> Option<&str> {
    slice.reach.node_name.as_deref().filter(|name| !name.is_empty())
}

fn pool_of(slice: &ResourceSliceInput) -> PoolId {
    (Arc::clone(&slice.driver), Arc::clone(&slice.pool))
}

impl SliceIndex {
    pub(super) fn insert(&mut self, slice: Arc<ResourceSliceInput>) {
        self.remove(&slice.name);
        let name = &slice.name;
        let list = match node_of(&slice) {
            Some(node) => self.of_node.entry(node.to_owned()).or_default(),
            None => &mut self.shared,
        };
        list.insert(name.clone(), Arc::clone(&slice));
        self.of_pool.entry(pool_of(&slice)).or_default().insert(name.clone(), Arc::clone(&slice));
        self.by_name.insert(name.clone(), slice);
    }

    pub(super) fn get(&self, name: &str) -> Option<&Arc<ResourceSliceInput>> {
        self.by_name.get(name)
    }

    pub(super) fn remove(&mut self, name: &str) {
        let Some(slice) = self.by_name.remove(name) else { return };
        match node_of(&slice) {
            Some(node) => drop_from(&mut self.of_node, &node.to_owned(), name),
            None => drop(self.shared.remove(name)),
        }
        drop_from(&mut self.of_pool, &pool_of(&slice), name);
    }

    pub(super) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Panics where the lists do not agree. See `DraStore::check`.
    pub(super) fn check(&self) {
        let of_nodes: usize = self.of_node.values().map(Slices::len).sum();
        assert_eq!(of_nodes + self.shared.len(), self.len(), "a slice is for one node, or for several");
        let of_pools: usize = self.of_pool.values().map(Slices::len).sum();
        assert_eq!(of_pools, self.len(), "a slice is one of its pool");
        for (node, slices) in &self.of_node {
            assert!(!slices.is_empty(), "a node without slices is not listed");
            let is_its = |slice: &Arc<ResourceSliceInput>| node_of(slice) == Some(node);
            assert!(slices.values().all(is_its), "a slice is listed with the node it names");
        }
        assert!(self.shared.values().all(|it| node_of(it).is_none()), "a shared slice names no node");
        for (id, slices) in &self.of_pool {
            assert!(!slices.is_empty(), "a pool without slices is not listed");
            assert!(slices.values().all(|slice| pool_of(slice) == *id), "a slice is listed with its pool");
        }
    }

    /// Those that may be for a node: the ones that name it, and all that name no node.
    pub(super) fn for_node(&self, node: &str) -> impl Iterator<Item = &Arc<ResourceSliceInput>> {
        self.of_node.get(node).into_iter().flat_map(Slices::values).chain(self.shared.values())
    }

    /// Those of a pool.
    pub(super) fn of_pool(&self, id: &PoolId) -> impl Iterator<Item = &Arc<ResourceSliceInput>> {
        self.of_pool.get(id).into_iter().flat_map(Slices::values)
    }
}

fn drop_from<K: std::hash::Hash + Eq>(lists: &mut FxHashMap<K, Slices>, key: &K, name: &str) {
    if let Some(list) = lists.get_mut(key) {
        list.remove(name);
        if list.is_empty() {
            lists.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::dra::NodeReachInput;

    fn slice(name: &str, node: &str, pool: &str) -> Arc<ResourceSliceInput> {
        let node_name = (!node.is_empty()).then(|| node.to_owned());
        Arc::new(ResourceSliceInput {
            name: name.to_owned(),
            pool: pool.into(),
            reach: NodeReachInput { node_name, ..NodeReachInput::default() },
            ..ResourceSliceInput::default()
        })
    }

    #[test]
    fn slice_that_moves_to_another_node_and_pool_leaves_the_old_ones() {
        let mut index = SliceIndex::default();
        index.insert(slice("a", "n1", "p"));
        index.insert(slice("b", "", "p"));
        index.insert(slice("a", "n2", "q"));
        let for_node =
            |index: &SliceIndex, node: &str| index.for_node(node).map(|it| it.name.clone()).collect();
        let on_one: Vec<String> = for_node(&index, "n1");
        let on_two: Vec<String> = for_node(&index, "n2");
        assert_eq!((on_one, on_two), (vec!["b".to_owned()], vec!["a".to_owned(), "b".to_owned()]));
        let pool = |pool: &str| index.of_pool(&("".into(), pool.into())).count();
        assert_eq!((pool("p"), pool("q")), (1, 1));
        index.remove("a");
        index.remove("b");
        assert!(index.of_node.is_empty() && index.of_pool.is_empty() && index.shared.is_empty());
    }
}
