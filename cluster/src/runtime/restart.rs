//! What a scheduler that begins anew is told: everything there is, then what happens.
//!
//! ```text
//!   crash: memory gone, calls on their way reach the API, answers go nowhere
//!     └─▶ start: LIST of every kind ─▶ Added events ─▶ WATCH from the oldest list, without what the lists knew
//! ```

use std::sync::LazyLock;

use schedlab_core::ids::PodUid;
use schedlab_core::pods::PodState;
use schedlab_core::scheduler::{KINDS, ObjectKind, Scheduler};

use crate::api::{Api, ApiError, Watch, WatchEvent};
use crate::controllers::{PodsWatched, WatchScope};

/// Where a scheduler that ended had placed the pods that the API did not know on a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Crashed {
    /// Pods between the choice of their node and their binding, and that node.
    pub held: Vec<(PodUid, String)>,
}

impl Crashed {
    /// What the memory of this scheduler says.
    #[must_use]
    pub fn of(scheduler: &Scheduler, api: &dyn Api) -> Crashed {
        let world = scheduler.world();
        let rows = world.pods().ids().map(|pod| world.pods().get(pod));
        let assumed = rows.filter(|row| row.state == PodState::Assumed);
        let unbound = assumed.filter(|row| api.pod_row(row.uid).is_some_and(|stored| stored.node.is_none()));
        let held = unbound.filter_map(|row| Some((row.uid, world.node_name(row.node()?).to_owned())));
        Crashed { held: held.collect() }
    }
}

/// Every kind but pods and nodes, which have columns of their own.
static OTHER_KINDS: LazyLock<Vec<(&'static str, &'static str)>> = LazyLock::new(|| {
    let others = KINDS.iter().filter(|row| !matches!(row.kind, ObjectKind::Pod | ObjectKind::Node));
    others.map(|row| (row.api_version, row.name)).collect()
});

/// What a scheduler that begins is told first, and the watch that misses nothing afterwards.
pub(super) struct Begun {
    pub(super) events: Vec<WatchEvent>,
    pub(super) watch: Box<dyn Watch>,
    /// Everything up to here is in `events`.
    pub(super) resource_version: u64,
}

/// Lists all that a scheduler reads, and watches from there on. Upstream: the first list of each informer.
pub(super) fn begin(api: &dyn Api) -> Result<Begun, ApiError> {
    let scope = WatchScope { nodes: true, pods: PodsWatched::All, kinds: OTHER_KINDS.as_slice() };
    let listed = scope.list(api)?;
    let mut watch = api.watch(listed.resource_version)?;
    // What happened while the lists were made: some of them know it already. Whatever comes later is newer
    // than every list.
    let mut meanwhile = Vec::new();
    watch.drain_into(&mut meanwhile)?;
    let seen_version = meanwhile.last().map_or(listed.resource_version, WatchEvent::resource_version);
    let news: Vec<WatchEvent> = meanwhile.into_iter().filter(|event| !listed.knows(event)).collect();
    let mut events = listed.events;
    events.extend(news);
    Ok(Begun { events, watch, resource_version: seen_version })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EmbeddedCluster;
    use crate::api::{EventKind, WatchedObject};
    use crate::clock::monotonic_ns;
    use std::sync::Arc;

    #[test]
    fn scheduler_that_begins_is_told_of_other_kinds_then_nodes_then_pods() {
        let api = EmbeddedCluster::new(Arc::new(monotonic_ns));
        for value in [
            serde_json::json!({ "apiVersion": "v1", "kind": "Pod",
                "metadata": { "name": "p", "namespace": "default" }, "spec": { "containers": [{ "name": "c" }] } }),
            serde_json::json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n" } }),
            serde_json::json!({ "apiVersion": "v1", "kind": "Service",
                "metadata": { "name": "s", "namespace": "default" } }),
        ] {
            let object = crate::api::Object::from_json(value).expect("an object");
            api.create(object).expect("a valid object");
        }
        let begun = begin(&api).expect("the store lists");
        assert!(begun.events.iter().all(|event| event.kind == EventKind::Added));
        let rank = |event: &WatchEvent| match &event.object {
            WatchedObject::Other(_) => 0,
            WatchedObject::Node(_) => 1,
            _ => 2,
        };
        let ranks: Vec<u8> = begun.events.iter().map(rank).collect();
        assert!(ranks.is_sorted(), "{ranks:?}");
        assert_eq!((ranks.iter().filter(|it| **it == 1).count(), ranks.last()), (1, Some(&2)));
        assert_eq!(begun.resource_version, api.resource_version());
    }
}
