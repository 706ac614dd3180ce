//! TopologyPlacementGenerator: a placement for each value of the topology key of a pod group.
//! Upstream: plugins/topologyaware/topology_placement.go.

mod hints;
#[cfg(any(test, feature = "naive"))]
pub mod naive;

use std::sync::Arc;

use crate::framework::descriptor::{PluginDescriptor, no_args};
use crate::framework::plugin::Plugin;
use crate::framework::points::EnqueueExtensions;
use crate::framework::points::placement::{Placement, PlacementGeneratePlugin, PodGroupRef, TopologyDomains};
use crate::ids::PodId;
#[cfg(test)]
use crate::naive::cases::Cases;
use crate::world::World;

/// Upstream's name.
pub const NAME: &str = "TopologyPlacementGenerator";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: None,
    default_args: no_args,
    factory: |_, _| Ok(Arc::new(TopologyPlacementGenerator)),
    #[cfg(any(test, feature = "naive"))]
    twin: naive::TWIN,
    #[cfg(test)]
    cases: Cases::NONE,
};

/// Keeps the members of a group within one domain.
#[derive(Clone, Copy, Debug)]
pub struct TopologyPlacementGenerator;

impl Plugin for TopologyPlacementGenerator {
    fn name(&self) -> &'static str {
        NAME
    }

    fn as_placement_generate(&self) -> Option<&dyn PlacementGeneratePlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl PlacementGeneratePlugin for TopologyPlacementGenerator {
    fn generate_placements(
        &self,
        world: &World,
        group: PodGroupRef<'_>,
        domains: &mut TopologyDomains,
    ) -> Result<Arc<[Placement]>, String> {
        let Some(key) = &group.object.topology_key else { return Ok(Arc::new([Placement::everywhere()])) };
        let all = domains.of(world, key);
        match scheduled_domain(world, group, key) {
            Ok(None) => Ok(all),
            Ok(Some(name)) => Ok(all.iter().filter(|placement| *placement.name == *name).cloned().collect()),
            Err(why) => Err(format!("cannot determine domain for already scheduled pods: {why}")),
        }
    }
}

/// The domain that members are in already. Upstream: `getScheduledPodsTopologyDomain`.
fn scheduled_domain(world: &World, group: PodGroupRef<'_>, key: &str) -> Result<Option<String>, String> {
    let mut domain: Option<&str> = None;
    for &pod in world.pod_groups().get(group.id).members() {
        let Some(node) = world.pods().get(pod).node() else { continue };
        let of_pod = |pod: PodId| world.pods().get(pod).uid.0;
        let Some(row) = world.nodes().row_of(node) else {
            let name = world.node_name(node);
            return Err(format!("getting node for pod {}: node {name:?} is gone", of_pod(pod)));
        };
        let symbol = world.vocabulary.symbols.get(key);
        let found = symbol.and_then(|key| world.node_label(row, key));
        let found = found.ok_or_else(|| format!("no topology domain found for pod {}", of_pod(pod)))?;
        // An empty value is taken for none found yet, as upstream takes it.
        match domain.filter(|known| !known.is_empty()) {
            Some(known) if known != found => {
                return Err(format!("more than 1 domain found for pod group: {known}, {found}"));
            }
            _ => domain = Some(found),
        }
    }
    Ok(domain.map(str::to_owned))
}
