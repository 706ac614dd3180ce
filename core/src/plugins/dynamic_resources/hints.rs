//! DynamicResources: a claim, a slice, a class or a node came or changed.
//! Upstream: dynamicresources.go `EventsToRegister`, `isSchedulableAfterClaimChange`,
//! `isSchedulableAfterTargetPodUpdate`.

use super::DynamicResources;
use super::claims::{claim_of, missing};
use crate::class::PodClass;
use crate::dra::DraNews;
use crate::framework::event::{ActionType, Event, EventObject, EventResource};
use crate::framework::points::{EnqueueExtensions, RegisteredEvent};
use crate::known_gaps::KnownGaps;
use crate::storage::StorageNews;
use crate::world::World;

impl EnqueueExtensions for DynamicResources {
    fn events_to_register(&self, _: KnownGaps) -> Vec<RegisteredEvent> {
        EVENTS.to_vec()
    }
}

const EVENTS: &[RegisteredEvent] = &[
    RegisteredEvent::always(
        EventResource::Node,
        ActionType::ADD.or(ActionType::UPDATE_NODE_LABEL).or(ActionType::UPDATE_NODE_ALLOCATABLE),
    ),
    RegisteredEvent::by_class(
        EventResource::ResourceClaim,
        ActionType::ADD.or(ActionType::UPDATE).or(ActionType::DELETE),
        after_claim_change,
    ),
    RegisteredEvent::by_class(
        EventResource::TargetPod,
        ActionType::UPDATE_POD_GENERATED_RESOURCE_CLAIM,
        after_claims_were_made,
    ),
    RegisteredEvent::always(EventResource::DeviceClass, ActionType::ADD.or(ActionType::UPDATE)),
    RegisteredEvent::always(EventResource::ResourceSlice, ActionType::ADD.or(ActionType::UPDATE)),
];

/// Devices came free, or something is new about a claim of the pod.
fn after_claim_change(world: &World, class: &PodClass, event: &Event) -> bool {
    let EventObject::Named { namespace, name, news: StorageNews::Dra(news) } = &event.object else {
        return true;
    };
    let DraNews::Claim { is_new, is_released, has_other_status } = *news else { return true };
    if event.what.action == ActionType::DELETE {
        return is_released;
    }
    if missing(world.dra(), class).is_some() {
        return false;
    }
    let text = |symbol| world.vocabulary.symbols.text(symbol);
    let (namespace, name) = (text(*namespace), text(*name));
    let mut used =
        class.input.resource_claims.iter().filter_map(|it| claim_of(world.dra(), class, it).ok()?);
    let is_used = used.any(|claim| claim.namespace == namespace && claim.name == name);
    is_released || is_used && (is_new || has_other_status)
}

/// All claims of the pod are there now.
fn after_claims_were_made(world: &World, class: &PodClass, _: &Event) -> bool {
    missing(world.dra(), class).is_none()
}
