//! Devices, classes, claims and rules, in a list that is searched from end to end.

use crate::input::dra::{
    DeviceClassInput, DeviceResultInput, DraInput, DraKind, ResourceClaimInput, ResourceSliceInput,
};

/// All objects of dynamic resource allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NaiveDra {
    /// In no order.
    pub objects: Vec<DraInput>,
}

impl NaiveDra {
    /// Adds an object or replaces the one of its name.
    pub fn put(&mut self, object: DraInput) {
        let (kind, namespace, name) = object.key();
        self.remove(kind, namespace, name);
        self.objects.push(object);
    }

    /// Takes an object out.
    pub fn remove(&mut self, kind: DraKind, namespace: &str, name: &str) {
        self.objects.retain(|known| known.key() != (kind, namespace, name));
    }

    /// Claims.
    pub(crate) fn claims(&self) -> impl Iterator<Item = &ResourceClaimInput> {
        self.objects.iter().filter_map(|object| match object {
            DraInput::ResourceClaim(it) => Some(&**it),
            _ => None,
        })
    }

    /// A class by name.
    pub(crate) fn class(&self, name: &str) -> Option<&DeviceClassInput> {
        self.objects.iter().find_map(|object| match object {
            DraInput::DeviceClass(it) if *it.name == *name => Some(&**it),
            _ => None,
        })
    }

    /// Slices.
    pub(crate) fn slices(&self) -> impl Iterator<Item = &ResourceSliceInput> {
        self.objects.iter().filter_map(|object| match object {
            DraInput::ResourceSlice(it) => Some(&**it),
            _ => None,
        })
    }

    /// The results of all claims, but those with admin access.
    pub(crate) fn in_use(&self) -> impl Iterator<Item = &DeviceResultInput> {
        let results = self.claims().filter_map(|claim| claim.allocation.as_ref()).flat_map(|it| &it.results);
        results.filter(|result| !result.admin_access)
    }
}
