//! LabClaimGate: a pod does not enter the queue before the claims it names exist, and its status says
//! which one it waits for.
//!
//! What KEP-5501 describes for claims of devices, with claims of volumes: without it such a pod is
//! tried, rejected by VolumeBinding and tried again. A claim that belongs to an ephemeral volume of the
//! pod is made by a controller within moments, so waiting for it is not worth a word.

use std::sync::Arc;

use schedlab_core::class::PodClass;
use schedlab_core::framework::args::PluginArgs;
use schedlab_core::framework::plugin::{Plugin, PreEnqueuePlugin, PreEnqueueResult};
use schedlab_core::framework::points::{ActionType, EnqueueExtensions, EventResource, RegisteredEvent};
use schedlab_core::framework::registry::Factored;
use schedlab_core::interner::Vocabulary;
use schedlab_core::known_gaps::KnownGaps;
use schedlab_core::world::World;

/// The plugin's name in configuration files.
pub const NAME: &str = "LabClaimGate";

/// Holds pods back whose claims do not exist.
#[derive(Clone, Copy, Debug)]
pub struct ClaimGate;

/// Makes the plugin; it has no arguments.
pub fn factory(_: &PluginArgs, _: &mut Vocabulary) -> Factored {
    Ok(Arc::new(ClaimGate))
}

impl Plugin for ClaimGate {
    fn name(&self) -> &'static str {
        NAME
    }

    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl PreEnqueuePlugin for ClaimGate {
    fn pre_enqueue(&self, world: &World, class: &PodClass) -> Option<PreEnqueueResult> {
        let is_missing = |claim: &&schedlab_core::class::volumes::PodClaim| {
            world.storage().find_claim(class.namespace, claim.name).is_none()
        };
        let missing = class.volumes.claims.iter().find(is_missing)?;
        let name = world.vocabulary.symbols.text(missing.name);
        let message = format!("waiting for claim {name:?} to be present");
        Some(if missing.owner.is_none() {
            PreEnqueueResult::rejected_with_message(&message)
        } else {
            PreEnqueueResult::rejected_without_message(message)
        })
    }
}

impl EnqueueExtensions for ClaimGate {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        vec![RegisteredEvent::always(EventResource::PersistentVolumeClaim, ActionType::ADD)]
    }
}

#[cfg(test)]
mod tests {
    use schedlab_core::input::storage::{ClaimInput, StorageInput};
    use schedlab_core::input::{PodInput, VolumeInput, VolumeSourceInput};

    use super::*;

    #[test]
    fn pre_enqueue_rejects_pod_until_its_pvcs_exist() {
        let mut world = World::default();
        let claim =
            ClaimInput { namespace: "shop".to_owned(), name: "there".to_owned(), ..ClaimInput::default() };
        world.upsert_storage(&StorageInput::PersistentVolumeClaim(claim));
        let named = |name: &str| VolumeSourceInput::Claim { claim_name: name.to_owned(), read_only: false };
        let cases = [
            ("no volumes", vec![], None),
            ("a claim that exists", vec![named("there")], None),
            (
                "one that does not",
                vec![named("there"), named("later")],
                Some(PreEnqueueResult::rejected_with_message("waiting for claim \"later\" to be present")),
            ),
        ];
        for (name, sources, wanted) in cases {
            let volume = |source| VolumeInput { name: "data".to_owned(), source };
            let volumes = sources.into_iter().map(volume).collect();
            let pod = PodInput { namespace: "shop".to_owned(), volumes, ..PodInput::default() };
            let class = world.compile(&Arc::new(pod));
            assert_eq!(ClaimGate.pre_enqueue(&world, world.class(class)), wanted, "{name}");
        }
    }
}
