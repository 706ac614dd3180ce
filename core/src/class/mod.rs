//! A pod spec compiled once into a [`PodClass`]: all that scheduling reads, in interned form.
//!
//! Two pods with the same class are interchangeable to every plugin, so whatever is computed per
//! class (masks, scores, diagnoses) is computed once for all replicas.

pub mod affinity;
pub mod features;
pub mod labels;
pub mod requests;
pub mod selector;
pub mod signature;
pub mod tolerations;
pub mod volumes;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ids::{ClassId, LabelSetId, Symbol};
use crate::input::{PodInput, VolumeSourceInput};
use crate::interner::Vocabulary;
use crate::reclaim::{Bits, Marks, Uses, cut, give_back};
use crate::resources::Amounts;
use crate::snapshot::ports::HostPort;

use affinity::{AffinityTerms, SpreadConstraint};
use features::FeatureSet;
use selector::{NameSubset, PreferredTerms, RequiredNodeAffinity};
use tolerations::Toleration;
use volumes::PodVolumes;

/// A compiled pod spec.
#[derive(Clone, Debug)]
pub struct PodClass {
    /// Its place in the table of classes.
    pub id: ClassId,
    /// The spec it was compiled from.
    pub input: Arc<PodInput>,
    /// `metadata.namespace`.
    pub namespace: Symbol,
    /// `metadata.labels`.
    pub labels: LabelSetId,
    /// `spec.priority`.
    pub priority: i32,
    /// `spec.nodeName` of a pod that is evaluated although it names a node.
    pub node_name: Option<Symbol>,
    /// What Filter compares with free amounts.
    pub pending: Amounts,
    /// What NodeResourcesFit's score adds to a node's use.
    pub scored: Amounts,
    /// What NodeResourcesBalancedAllocation adds to a node's use.
    pub balanced: Amounts,
    /// What the pod occupies once placed.
    pub placed: Amounts,
    /// Milli-CPU it occupies with defaults for missing requests.
    pub placed_nonzero_cpu_milli: i64,
    /// Memory it occupies with defaults for missing requests.
    pub placed_nonzero_memory_bytes: i64,
    /// `spec.tolerations`.
    pub tolerations: Box<[Toleration]>,
    /// `spec.nodeSelector` and required node affinity; absent when the pod has neither.
    pub required_node_affinity: Option<RequiredNodeAffinity>,
    /// The nodes that required node affinity names.
    pub affinity_names: NameSubset,
    /// Preferred node affinity; absent is not the same as empty.
    pub preferred_node_affinity: Option<PreferredTerms>,
    /// Host ports of containers and sidecars.
    pub host_ports: Box<[HostPort]>,
    /// Normalised names of all images: init containers, containers, image volumes.
    pub images: Box<[Symbol]>,
    /// Names of the scheduling gates.
    pub scheduling_gates: Box<[Symbol]>,
    /// `spec.affinity.podAffinity`.
    pub pod_affinity: AffinityTerms,
    /// `spec.affinity.podAntiAffinity`.
    pub pod_anti_affinity: AffinityTerms,
    /// `spec.topologySpreadConstraints`.
    pub spread: Box<[SpreadConstraint]>,
    /// `metadata.deletionTimestamp` is set.
    pub is_terminating: bool,
    /// Claims, disks and other volumes that scheduling reads.
    pub volumes: PodVolumes,
    /// Features that a node must declare.
    pub required_features: FeatureSet,
    /// What was interned for it.
    uses: Uses,
}

/// All classes.
#[derive(Clone, Debug, Default)]
pub struct ClassTable {
    classes: Vec<PodClass>,
    by_input: FxHashMap<Arc<PodInput>, ClassId>,
    free: Vec<u32>,
    /// Those of `free`.
    vacant: Bits,
    /// Compiled or used since the last sweep: whoever has just asked for one may be about to use it.
    touched: Bits,
}

/// How many strings a class weighs as much as.
const CLASS_WEIGHT: u64 = 16;

impl ClassTable {
    /// The class of a spec, compiled on first sight.
    pub fn compile(&mut self, input: &Arc<PodInput>, vocabulary: &mut Vocabulary) -> ClassId {
        self.compile_new(input, vocabulary).0
    }

    /// The same, and whether it is new.
    pub(crate) fn compile_new(
        &mut self,
        input: &Arc<PodInput>,
        vocabulary: &mut Vocabulary,
    ) -> (ClassId, bool) {
        if let Some(&id) = self.by_input.get(input) {
            self.touch(id);
            return (id, false);
        }
        let next = self.free.pop();
        let id = next.unwrap_or_else(|| u32::try_from(self.classes.len()).expect("fewer than 2^32 classes"));
        let id = ClassId(id);
        let class = PodClass::compile(id, input, vocabulary);
        match next {
            Some(_) => {
                self.vacant.remove(id.index());
                self.classes[id.index()] = class;
            }
            None => self.classes.push(class),
        }
        debug_assert_eq!(self.classes[id.index()].id, id, "a class knows its id");
        let before = self.by_input.insert(Arc::clone(input), id);
        debug_assert!(before.is_none(), "a spec has one class");
        self.touch(id);
        vocabulary.grow(CLASS_WEIGHT);
        (id, true)
    }

    /// A class is used: the next sweep leaves it.
    #[inline]
    pub(crate) fn touch(&mut self, id: ClassId) {
        self.touched.insert(id.index());
    }

    /// Whether an id stands for a class.
    #[must_use]
    pub(crate) fn is_live(&self, id: ClassId) -> bool {
        !self.vacant.contains(id.index())
    }

    /// All ids that were given out, live or not.
    pub(crate) fn slots(&self) -> impl Iterator<Item = ClassId> + use<> {
        (0..self.classes.len()).map(|at| ClassId(u32::try_from(at).expect("classes fit u32")))
    }

    /// Marks what classes in use refer to, after all else is marked. How much is marked only because it
    /// was asked for lately.
    pub(crate) fn mark_contents(&self, marks: &mut Marks) -> u64 {
        let mut young = 0;
        for class in self.by_input.values().map(|&id| self.get(id)) {
            if self.touched.contains(class.id.index()) && !marks.classes.contains(class.id.index()) {
                marks.class(class.id);
                young += CLASS_WEIGHT + class.uses.symbols.len() as u64;
            }
            if marks.classes.contains(class.id.index()) {
                marks.uses(&class.uses);
            }
        }
        young
    }

    /// Forgets classes that are not in use. Their ids read as a class of a pod without a spec until
    /// they are given out again.
    pub(crate) fn sweep(&mut self, marks: &Marks, vocabulary: &mut Vocabulary) {
        let mut freed = Vec::new();
        self.by_input.retain(|_, id| {
            let stays = marks.classes.contains(id.index());
            if !stays {
                freed.push(id.0);
            }
            stays
        });
        let nothing = Arc::default();
        for &id in &freed {
            self.classes[id as usize] = PodClass::compile(ClassId(id), &nothing, vocabulary);
        }
        let len = give_back(&mut self.free, freed, self.classes.len());
        cut(&mut self.classes, len);
        self.vacant.clear();
        self.free.iter().for_each(|&id| self.vacant.insert(id as usize));
        self.by_input.shrink_to(2 * self.by_input.len());
        self.touched.clear();
    }

    /// Panics where specs, classes and free ids do not agree. See `World::check`.
    pub(crate) fn check(&self) {
        assert_eq!(self.by_input.len() + self.free.len(), self.classes.len(), "an id has a class or is free");
        for (at, class) in self.classes.iter().enumerate() {
            assert_eq!(class.id.index(), at, "a class knows its id");
        }
        for (input, &id) in &self.by_input {
            assert!(self.is_live(id), "a known spec has a live class");
            assert!(Arc::ptr_eq(input, &self.get(id).input), "a class is found by its own spec");
        }
        for &id in &self.free {
            assert!(self.vacant.contains(id as usize), "a free id is vacant");
            assert!(!self.is_live(ClassId(id)), "a free id is no class");
        }
    }

    /// A compiled class.
    #[inline]
    #[must_use]
    pub fn get(&self, id: ClassId) -> &PodClass {
        &self.classes[id.index()]
    }

    /// How many classes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_input.len()
    }

    /// There is no class.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_input.is_empty()
    }
}

impl PodClass {
    fn compile(id: ClassId, input: &Arc<PodInput>, vocabulary: &mut Vocabulary) -> PodClass {
        let (class, uses) = vocabulary.recorded(|vocabulary| PodClass::of(id, input, vocabulary));
        PodClass { uses, ..class }
    }

    fn of(id: ClassId, input: &Arc<PodInput>, vocabulary: &mut Vocabulary) -> PodClass {
        let pod = input.as_ref();
        let affinity = pod.node_affinity.as_ref();
        let required = affinity.and_then(|affinity| affinity.required.as_deref());
        let during_execution = affinity.and_then(|affinity| affinity.required_during_execution.as_deref());
        let has_required = required.is_some() || during_execution.is_some() || pod.node_selector.is_some();
        let nonzero = Amounts::from_list(&requests::placed_nonzero(pod), vocabulary);
        let node_name = pod.node_name.as_deref().filter(|name| !name.is_empty());
        PodClass {
            id,
            input: Arc::clone(input),
            namespace: vocabulary.symbols.intern(&pod.namespace),
            labels: vocabulary.label_set(&pod.labels),
            priority: pod.priority,
            node_name: node_name.map(|name| vocabulary.symbols.intern(name)),
            pending: Amounts::from_list(&requests::pending(pod), vocabulary),
            scored: Amounts::from_list(&requests::scored(pod), vocabulary),
            balanced: Amounts::from_list(&requests::balanced(pod), vocabulary),
            placed: Amounts::from_list(&requests::placed(pod), vocabulary),
            placed_nonzero_cpu_milli: nonzero.cpu_milli,
            placed_nonzero_memory_bytes: nonzero.memory_bytes,
            tolerations: pod.tolerations.iter().map(|input| Toleration::compile(input, vocabulary)).collect(),
            required_node_affinity: has_required.then(|| {
                RequiredNodeAffinity::compile(pod.node_selector.as_ref(), required, vocabulary)
                    .during_execution(during_execution, vocabulary)
            }),
            affinity_names: NameSubset::compile(required.unwrap_or_default(), vocabulary),
            preferred_node_affinity: affinity
                .and_then(|affinity| affinity.preferred.as_deref())
                .map(|terms| PreferredTerms::compile(terms, vocabulary)),
            host_ports: host_ports(pod, vocabulary),
            images: images(pod, vocabulary),
            scheduling_gates: pod
                .scheduling_gates
                .iter()
                .map(|gate| vocabulary.symbols.intern(gate))
                .collect(),
            pod_affinity: AffinityTerms::compile(&pod.pod_affinity, &pod.namespace, vocabulary),
            pod_anti_affinity: AffinityTerms::compile(&pod.pod_anti_affinity, &pod.namespace, vocabulary),
            spread: SpreadConstraint::compile_all(pod, vocabulary),
            is_terminating: pod.is_terminating,
            volumes: PodVolumes::compile(pod, vocabulary),
            required_features: FeatureSet::required_by(pod),
            uses: Uses::default(),
        }
    }

    /// The pod asks for nothing that is counted, not even for 0 of an extended resource.
    #[must_use]
    pub fn asks_for_nothing(&self) -> bool {
        let amounts = &self.pending;
        amounts.cpu_milli == 0
            && amounts.memory_bytes == 0
            && amounts.ephemeral_bytes == 0
            && amounts.scalars.is_empty()
    }
}

/// Ports of plain init containers do not count: they are gone when the pod runs.
/// Upstream: util/utils.go `GetHostPorts`.
fn host_ports(pod: &PodInput, vocabulary: &mut Vocabulary) -> Box<[HostPort]> {
    let sidecars = pod.init_containers.iter().filter(|container| container.is_sidecar);
    sidecars
        .chain(&pod.containers)
        .flat_map(|container| &container.host_ports)
        .filter(|port| port.host_port > 0)
        .map(|port| HostPort::new(&port.host_ip, &port.protocol, port.host_port, vocabulary))
        .collect()
}

/// Upstream: imagelocality/image_locality.go `sumImageScores`, `normalizedImageName`.
fn images(pod: &PodInput, vocabulary: &mut Vocabulary) -> Box<[Symbol]> {
    let containers =
        pod.init_containers.iter().chain(&pod.containers).map(|container| container.image.as_str());
    let volumes = pod.volumes.iter().filter_map(|volume| match &volume.source {
        VolumeSourceInput::Image { reference } => Some(reference.as_str()),
        _ => None,
    });
    containers.chain(volumes).map(|name| vocabulary.symbols.intern(&normalized_image_name(name))).collect()
}

/// Appends `:latest` to a name that has no tag.
fn normalized_image_name(name: &str) -> String {
    if name.rfind(':') <= name.rfind('/') { format!("{name}:latest") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_names_without_a_tag_mean_latest() {
        let cases = [
            ("nginx", "nginx:latest"),
            ("nginx:1.2", "nginx:1.2"),
            ("host:5000/nginx", "host:5000/nginx:latest"),
            ("host:5000/nginx:1", "host:5000/nginx:1"),
            ("repo/nginx@sha256:abc", "repo/nginx@sha256:abc"),
        ];
        for (name, expected) in cases {
            assert_eq!(normalized_image_name(name), expected);
        }
    }

    #[test]
    fn equal_specs_share_a_class() {
        let mut vocabulary = Vocabulary::default();
        let mut classes = ClassTable::default();
        let spec = |priority| Arc::new(PodInput { priority, ..PodInput::default() });
        let first = classes.compile(&spec(1), &mut vocabulary);
        assert_eq!(classes.compile(&spec(1), &mut vocabulary), first);
        assert_ne!(classes.compile(&spec(2), &mut vocabulary), first);
        assert_eq!(classes.len(), 2);
    }
}
