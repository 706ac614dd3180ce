//! Resource columns: cpu, memory, ephemeral storage and pods are fixed; every other resource that
//! scheduling counts ("scalar" upstream: extended, hugepages, attachable volumes) gets a column on
//! first sight.

use rustc_hash::FxHashMap;

use crate::ids::Symbol;
use crate::input::ResourceList;
use crate::interner::{Vocabulary, Watch};
use crate::reclaim::Bits;

/// Milli-CPU that a container without a CPU request counts as when nodes are scored.
/// Upstream: util/pod_resources.go `DefaultMilliCPURequest`.
pub const DEFAULT_CPU_REQUEST_MILLI: i64 = 100;
/// Memory that a container without a memory request counts as when nodes are scored.
/// Upstream: util/pod_resources.go `DefaultMemoryRequest`.
pub const DEFAULT_MEMORY_REQUEST_BYTES: i64 = 200 * 1024 * 1024;

/// A scalar resource's column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScalarId(pub u16);

impl ScalarId {
    /// The id as an index.
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A resource that has a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResourceKind {
    /// `cpu`, in milli.
    Cpu,
    /// `memory`, in bytes.
    Memory,
    /// `ephemeral-storage`, in bytes.
    EphemeralStorage,
    /// Anything else that is counted.
    Scalar(ScalarId),
}

/// Scalar resource names.
#[derive(Clone, Debug, Default)]
pub struct ScalarNames {
    by_symbol: FxHashMap<Symbol, ScalarId>,
    symbols: Vec<Symbol>,
    free: Vec<ScalarId>,
    pinned: Bits,
    watch: Watch<ScalarId>,
}

impl ScalarNames {
    /// The column of a scalar resource, given out on first sight.
    pub fn intern(&mut self, symbol: Symbol) -> ScalarId {
        let id = match self.by_symbol.get(&symbol) {
            Some(&id) => id,
            None => self.add(symbol),
        };
        if self.watch.note(id) {
            self.pinned.insert(id.index());
        }
        id
    }

    /// Panics where names and columns do not agree. See `World::check`.
    pub(crate) fn check(&self) {
        assert_eq!(
            self.by_symbol.len() + self.free.len(),
            self.symbols.len(),
            "a column has a name or is free"
        );
        for (&symbol, &id) in &self.by_symbol {
            assert_eq!(self.symbols[id.index()], symbol, "a resource is found by its own name");
        }
        for id in &self.free {
            assert!(id.index() < self.symbols.len(), "a free column is one of the table");
            assert!(!self.pinned.contains(id.index()), "what is pinned is never free");
        }
    }

    fn add(&mut self, symbol: Symbol) -> ScalarId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.symbols.push(symbol);
            ScalarId(u16::try_from(self.symbols.len() - 1).expect("fewer than 65,536 resource names"))
        });
        self.symbols[id.index()] = symbol;
        self.by_symbol.insert(symbol, id);
        id
    }

    pub(crate) fn watch_mut(&mut self) -> &mut Watch<ScalarId> {
        &mut self.watch
    }

    pub(crate) fn pin_all(&mut self) {
        self.by_symbol.values().for_each(|id| self.pinned.insert(id.index()));
    }

    /// Forgets resources that nobody offers or asks for, and hands over the names of the others. The
    /// columns of those that go hold zeros.
    pub(crate) fn sweep(&mut self, marks: &Bits, mut keep: impl FnMut(Symbol)) {
        let ScalarNames { by_symbol, free, pinned, .. } = self;
        by_symbol.retain(|&symbol, id| {
            let stays = marks.contains(id.index()) || pinned.contains(id.index());
            if stays {
                keep(symbol);
            } else {
                free.push(*id);
            }
            stays
        });
        free.sort_unstable_by(|one, other| other.cmp(one));
    }

    /// The name's symbol.
    #[must_use]
    pub fn symbol(&self, id: ScalarId) -> Symbol {
        self.symbols[id.index()]
    }

    /// How many scalar resources are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    /// No scalar resource is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }
}

/// Amounts per resource, in column units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// Milli-CPU.
    pub cpu_milli: i64,
    /// Memory.
    pub memory_bytes: i64,
    /// Ephemeral storage.
    pub ephemeral_bytes: i64,
    /// Scalar resources in column order. A resource named with quantity 0 has an entry:
    /// upstream's Fit treats "asks for 0" and "does not ask" differently.
    pub scalars: Box<[(ScalarId, i64)]>,
}

impl Amounts {
    /// Converts a summed resource list; sums are made in exact quantities before this rounds up.
    pub fn from_list(list: &ResourceList, vocabulary: &mut Vocabulary) -> Self {
        let mut amounts = Amounts::default();
        let mut scalars = Vec::new();
        for (name, quantity) in list {
            match name.as_str() {
                "cpu" => amounts.cpu_milli = quantity.milli_value(),
                "memory" => amounts.memory_bytes = quantity.value(),
                "ephemeral-storage" => amounts.ephemeral_bytes = quantity.value(),
                "pods" => {}
                other if is_scalar_resource(other) => {
                    let symbol = vocabulary.symbols.intern(other);
                    scalars.push((vocabulary.scalars.intern(symbol), quantity.value()));
                }
                _ => {}
            }
        }
        scalars.sort_unstable_by_key(|&(id, _)| id);
        debug_assert!(scalars.is_sorted_by(|(one, _), (next, _)| one < next), "a resource is named once");
        amounts.scalars = scalars.into();
        amounts
    }

    /// The amount of one resource, 0 when not named.
    #[must_use]
    pub fn get(&self, kind: ResourceKind) -> i64 {
        match kind {
            ResourceKind::Cpu => self.cpu_milli,
            ResourceKind::Memory => self.memory_bytes,
            ResourceKind::EphemeralStorage => self.ephemeral_bytes,
            ResourceKind::Scalar(id) => {
                self.scalars.iter().find(|&&(scalar, _)| scalar == id).map_or(0, |&(_, amount)| amount)
            }
        }
    }
}

/// The column behind a resource name, if it has one.
pub fn resource_kind(name: &str, vocabulary: &mut Vocabulary) -> Option<ResourceKind> {
    match name {
        "cpu" => Some(ResourceKind::Cpu),
        "memory" => Some(ResourceKind::Memory),
        "ephemeral-storage" => Some(ResourceKind::EphemeralStorage),
        other if is_scalar_resource(other) => {
            let symbol = vocabulary.symbols.intern(other);
            Some(ResourceKind::Scalar(vocabulary.scalars.intern(symbol)))
        }
        _ => None,
    }
}

/// Upstream: util/utils.go `IsScalarResourceName`.
#[must_use]
pub fn is_scalar_resource(name: &str) -> bool {
    is_extended_resource(name)
        || name.starts_with("hugepages-")
        || name.contains("kubernetes.io/")
        || name.starts_with("attachable-volumes-")
}

/// Upstream: apis/core/v1/helper `IsExtendedResourceName`: a qualified name outside
/// kubernetes.io that stays one with "requests." in front.
#[must_use]
pub fn is_extended_resource(name: &str) -> bool {
    name.contains('/')
        && !name.contains("kubernetes.io/")
        && !name.starts_with("requests.")
        && is_qualified_name(&format!("requests.{name}"))
}

/// Upstream: apimachinery validation `IsQualifiedName`: an optional DNS subdomain, a slash, and a
/// name of at most 63 characters.
#[must_use]
pub fn is_qualified_name(text: &str) -> bool {
    let mut parts = text.split('/');
    let (first, second, third) = (parts.next(), parts.next(), parts.next());
    match (first, second, third) {
        (Some(name), None, None) => is_name_part(name),
        (Some(prefix), Some(name), None) => is_dns_subdomain(prefix) && is_name_part(name),
        _ => false,
    }
}

/// The character rule of label values and name parts, for non-empty text of at most 63 bytes.
#[must_use]
pub fn is_name_part(text: &str) -> bool {
    let bytes = text.as_bytes();
    let edge = |byte: u8| byte.is_ascii_alphanumeric();
    matches!(bytes, [first, .., last] if edge(*first) && edge(*last)) | matches!(bytes, [only] if edge(*only))
        && bytes.len() <= 63
        && bytes.iter().all(|&byte| edge(byte) || matches!(byte, b'-' | b'_' | b'.'))
}

/// Upstream: `IsDNS1123Subdomain`.
fn is_dns_subdomain(text: &str) -> bool {
    let label = |part: &str| {
        let bytes = part.as_bytes();
        let edge = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        bytes.first().is_some_and(edge)
            && bytes.last().is_some_and(edge)
            && bytes.iter().all(|byte| edge(byte) || *byte == b'-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalar_resource_name_cases() {
        let cases = [
            ("example.com/gpu", true),
            ("hugepages-2Mi", true),
            ("kubernetes.io/batch", true),
            ("sub.kubernetes.io/thing", true),
            ("attachable-volumes-csi", true),
            ("cpu", false),
            ("plain", false),
            ("requests.example.com/gpu", false),
            ("Example.com/gpu", false),
            ("example.com/-gpu", false),
            ("example.com/a/b", false),
            ("example.com/", false),
        ];
        for (name, scalar) in cases {
            assert_eq!(is_scalar_resource(name), scalar, "name: {name}");
        }
    }

    #[test]
    fn name_parts_end_in_letters_or_digits_and_stay_short() {
        let long = "a".repeat(64);
        let cases = [
            ("a", true),
            ("a-b", true),
            ("a_.b", true),
            ("-a", false),
            ("a-", false),
            ("", false),
            (long.as_str(), false),
            ("a b", false),
        ];
        for (text, valid) in cases {
            assert_eq!(is_name_part(text), valid, "text: {text:?}");
        }
    }
}
