//! VolumeZone: a volume with zone labels can be used on nodes of these zones only.
//! Upstream: plugins/volumezone/volume_zone.go.

#[cfg(test)]
mod cases;
#[cfg(test)]
mod hint_cases;
mod hints;
#[cfg(any(test, feature = "naive"))]
pub mod naive;

use std::sync::Arc;

use crate::class::PodClass;
use crate::framework::descriptor::{PluginDescriptor, no_args};
use crate::framework::plugin::{FilterPlugin, Plugin, PreFilter, Reads, SignPod, retain_rows};
use crate::framework::points::EnqueueExtensions;
use crate::framework::status::{Code, Reason};
use crate::ids::{LabelSetId, Symbol};
use crate::input::storage::BindingMode;
use crate::interner::{EMPTY, Vocabulary};
use crate::plugins::helper::volume_texts::{
    claim_not_found, class_not_found, no_binding_mode, volume_not_found,
};
use crate::storage::objects::{TOPOLOGY_LABELS, ZoneLabel};
use crate::world::World;

/// Upstream's name.
pub const NAME: &str = "VolumeZone";

/// The plugin in the list of those that ship with the engine.
pub(super) const DESCRIPTOR: PluginDescriptor = PluginDescriptor {
    name: NAME,
    default_weight: Some(0),
    default_args: no_args,
    factory: |_, vocabulary| Ok(Arc::new(VolumeZone::new(vocabulary))),
    #[cfg(any(test, feature = "naive"))]
    twin: naive::TWIN,
    #[cfg(test)]
    cases: cases::CASES,
};

const REASON: Reason = Reason::Text("node(s) had no available volume zone");
const NO_CLAIM_NAME: Reason = Reason::Text("PersistentVolumeClaim had no name");
const NO_CLASS: Reason = Reason::Text("PersistentVolumeClaim had no pv name and storageClass name");
const NO_VOLUME_NAME: Reason = Reason::Text("PersistentVolume had no name");

/// Compares zone labels of bound volumes with those of nodes.
#[derive(Clone, Debug)]
pub struct VolumeZone {
    topology_keys: [Symbol; 4],
}

impl VolumeZone {
    /// The plugin, with its labels' keys interned.
    pub fn new(vocabulary: &mut Vocabulary) -> VolumeZone {
        VolumeZone { topology_keys: TOPOLOGY_LABELS.map(|(key, _)| vocabulary.symbols.intern(key)) }
    }

    fn fits(&self, world: &World, zones: &[&ZoneLabel], labels: LabelSetId) -> bool {
        let label = |key| world.vocabulary.label(labels, key);
        // A node without any of the labels is taken for one of a cluster that has no zones.
        if self.topology_keys.iter().all(|&key| label(key).is_none()) {
            return true;
        }
        zones.iter().all(|zone| {
            let value = label(zone.key).or_else(|| label(zone.current_key));
            value.is_some_and(|value| zone.values.contains(&value))
        })
    }
}

/// Zone labels of the volumes that the pod's claims are bound to, or why no node will do.
fn zone_labels<'a>(world: &'a World, class: &PodClass) -> Result<Vec<&'a ZoneLabel>, Reason> {
    let storage = world.storage();
    let text = |symbol| world.vocabulary.symbols.text(symbol);
    let mut zones = Vec::new();
    for name in class.volumes.named_claims() {
        if name == EMPTY {
            return Err(NO_CLAIM_NAME);
        }
        let (_, claim) =
            storage.find_claim(class.namespace, name).ok_or_else(|| claim_not_found(text(name)))?;
        if claim.volume_name == EMPTY {
            if claim.class == EMPTY {
                return Err(NO_CLASS);
            }
            let storage_class =
                storage.class(claim.class).ok_or_else(|| class_not_found(text(claim.class)))?;
            match storage_class.binding_mode {
                None => return Err(no_binding_mode(text(claim.class))),
                Some(BindingMode::WaitForFirstConsumer) => continue,
                Some(BindingMode::Immediate) => return Err(NO_VOLUME_NAME),
            }
        }
        let (_, volume) = storage
            .find_volume(claim.volume_name)
            .ok_or_else(|| volume_not_found(text(claim.volume_name)))?;
        zones.extend(&volume.zone_labels);
    }
    Ok(zones)
}

impl Plugin for VolumeZone {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sign_pod(&self, _: &PodClass) -> SignPod {
        SignPod::Spec
    }

    fn plan_version(&self, world: &World, class: &PodClass) -> Option<u64> {
        (!class.volumes.claims.is_empty()).then(|| world.storage().version())
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl FilterPlugin for VolumeZone {
    /// What else it depends on moves the plan's version.
    fn reads(&self) -> Reads {
        Reads::Static
    }

    fn pre_filter<'a>(&self, world: &'a World, class: &'a PodClass) -> PreFilter<'a> {
        match zone_labels(world, class) {
            Err(reason) => PreFilter::Reject(Code::UnschedulableAndUnresolvable, reason),
            Ok(zones) if zones.is_empty() => PreFilter::Skip,
            Ok(_) => PreFilter::Run,
        }
    }

    fn filter(&self, world: &World, class: &PodClass, first_word: usize, words: &mut [u64]) {
        let Ok(zones) = zone_labels(world, class) else { return words.fill(0) };
        let label_sets = &world.nodes().columns().label_set;
        retain_rows(first_word, words, |row| self.fits(world, &zones, label_sets[row]));
    }

    fn verdict(&self, world: &World, class: &PodClass, row: usize, reasons: &mut Vec<Reason>) -> Code {
        match zone_labels(world, class) {
            Err(reason) => reasons.push(reason),
            Ok(zones) if self.fits(world, &zones, world.nodes().columns().label_set[row]) => {
                return Code::Success;
            }
            Ok(_) => reasons.push(REASON),
        }
        Code::UnschedulableAndUnresolvable
    }
}
