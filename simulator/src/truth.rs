//! The cluster as it is, and as one scheduler has been told it is: objects by identity, kept from
//! watch events alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::faults::Stream;
use super::rows::PodRows;
use super::shape::{NAMESPACE_COUNT, is_of_team, namespace_name};
use schedlab_cluster::api::{EventKind, GenericObject, NodeEntry, WatchEvent, WatchedObject};

/// Kind, namespace and name.
type OtherKey = (String, String, String);

/// Objects by identity.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects {
    pub(super) pods: PodRows,
    /// By the number in the name.
    pub(super) nodes: BTreeMap<u8, Arc<NodeEntry>>,
    others: BTreeMap<OtherKey, Arc<GenericObject>>,
}

/// The number of a node: its name is interned in the order of numbers.
pub(super) fn node_number(entry: &NodeEntry) -> u8 {
    u8::try_from(entry.name.index()).expect("a scenario has few nodes")
}

/// Which watch tells of an event.
pub(super) fn stream_of(event: &WatchEvent) -> Stream {
    match &event.object {
        WatchedObject::Pod(_) => Stream::Pods,
        WatchedObject::Node(_) => Stream::Nodes,
        WatchedObject::PodEvent(_) | WatchedObject::Other(_) => Stream::Others,
    }
}

fn other_key(object: &GenericObject) -> OtherKey {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    (object.kind.clone(), text(&object.metadata.namespace), text(&object.metadata.name))
}

impl Objects {
    /// Takes over what an event says.
    pub(super) fn note(&mut self, event: &WatchEvent) {
        let is_gone = event.kind == EventKind::Deleted;
        match &event.object {
            WatchedObject::Pod(row) if is_gone => self.pods.remove(row.uid),
            WatchedObject::Pod(row) => self.pods.insert(*row),
            WatchedObject::Node(entry) if is_gone => drop(self.nodes.remove(&node_number(entry))),
            WatchedObject::Node(entry) => drop(self.nodes.insert(node_number(entry), Arc::clone(entry))),
            WatchedObject::PodEvent(_) => {}
            WatchedObject::Other(object) if is_gone => drop(self.others.remove(&other_key(object))),
            WatchedObject::Other(object) => {
                self.others.insert(other_key(object), Arc::clone(object));
            }
        }
    }

    /// What a scheduler that knows `known` is told when it lists again: what is gone, what is new,
    /// and everything else once more. Upstream: client-go's reflector and `DeltaFIFO.Replace`.
    pub(super) fn relist(&self, known: &Objects, stream: Stream, into: &mut Vec<WatchEvent>) {
        let mut tell = |kind, object| into.push(WatchEvent { kind, object });
        let kind_of = |is_known| if is_known { EventKind::Modified } else { EventKind::Added };
        match stream {
            Stream::Pods => {
                let gone = known.pods.values().filter(|row| !self.pods.contains_key(&row.uid));
                gone.for_each(|row| tell(EventKind::Deleted, WatchedObject::Pod(*row)));
                for row in self.pods.values() {
                    tell(kind_of(known.pods.contains_key(&row.uid)), WatchedObject::Pod(*row));
                }
            }
            Stream::Nodes => {
                let gone = known.nodes.iter().filter(|(number, _)| !self.nodes.contains_key(number));
                gone.for_each(|(_, entry)| tell(EventKind::Deleted, WatchedObject::Node(Arc::clone(entry))));
                for (number, entry) in &self.nodes {
                    tell(kind_of(known.nodes.contains_key(number)), WatchedObject::Node(Arc::clone(entry)));
                }
            }
            Stream::Others => {
                let gone = known.others.iter().filter(|(key, _)| !self.others.contains_key(*key));
                gone.for_each(|(_, object)| {
                    tell(EventKind::Deleted, WatchedObject::Other(Arc::clone(object)))
                });
                for (key, object) in &self.others {
                    tell(kind_of(known.others.contains_key(key)), WatchedObject::Other(Arc::clone(object)));
                }
            }
        }
    }

    /// A list of everything, as a scheduler that starts reads it: nodes and other objects first.
    pub(super) fn list(&self, into: &mut Vec<WatchEvent>) {
        let nothing = Objects::default();
        for stream in [Stream::Others, Stream::Nodes, Stream::Pods] {
            self.relist(&nothing, stream, into);
        }
    }

    /// Whether each namespace has the label that terms select namespaces by.
    pub(super) fn labelled_namespaces(&self) -> [bool; NAMESPACE_COUNT] {
        std::array::from_fn(|number| {
            let name = namespace_name(u8::try_from(number).unwrap_or(u8::MAX)).to_owned();
            let known = self.others.get(&("Namespace".to_owned(), String::new(), name));
            known.and_then(|object| object.metadata.labels.as_ref()).is_some_and(is_of_team)
        })
    }

    /// How many versions of objects differ from another's.
    pub(super) fn differences(&self, other: &Objects) -> usize {
        let pods = self.pods.values().filter(|row| other.pods.get(&row.uid) != Some(row)).count();
        let nodes = self.nodes.iter().filter(|(number, entry)| {
            other.nodes.get(number).is_none_or(|known| known.resource_version != entry.resource_version)
        });
        let missing = other.pods.len().saturating_sub(self.pods.len())
            + other.nodes.len().saturating_sub(self.nodes.len());
        pods + nodes.count() + missing
    }
}
