//! `matchAttribute` and `distinctAttribute` of a claim.
//!
//! Upstream: structured/internal/incubating/{allocator_incubating,constraint}.go.

use crate::input::dra::{DeviceAttributeInput, DeviceConstraintInput, DeviceInput};

/// A constraint and the devices that were added to it, as far as it needs to know them. Once it refuses
/// a device, adding others does not make it accept that one.
#[derive(Clone, Debug)]
pub(super) struct Constraint<'a> {
    requests: &'a [String],
    attribute: &'a str,
    kind: Kind,
    values: Vec<&'a DeviceAttributeInput>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Match,
    Distinct,
}

/// The request that a device is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestName<'a> {
    /// Its name, or that of the request whose alternative it is.
    pub(super) base: &'a str,
    /// The alternative's name.
    pub(super) alternative: Option<&'a str>,
}

impl RequestName<'_> {
    /// `request` or `request/alternative`.
    pub(super) fn full(self) -> String {
        match self.alternative {
            Some(alternative) => format!("{}/{alternative}", self.base),
            None => self.base.to_owned(),
        }
    }
}

impl<'a> Constraint<'a> {
    /// `None` when it is of a kind that is not known here.
    pub(super) fn of(input: &'a DeviceConstraintInput) -> Option<Constraint<'a>> {
        let (kind, attribute) = match (&input.match_attribute, &input.distinct_attribute) {
            (Some(attribute), _) => (Kind::Match, attribute),
            (None, Some(attribute)) => (Kind::Distinct, attribute),
            (None, None) => return None,
        };
        Some(Constraint { requests: &input.requests, attribute, kind, values: Vec::new() })
    }

    fn concerns(&self, request: RequestName<'_>) -> bool {
        self.requests.is_empty()
            || self.requests.iter().any(|it| it == request.base)
            || request.alternative.is_some() && self.requests.contains(&request.full())
    }

    /// Whether the device may be added; if so, it is.
    pub(super) fn add(&mut self, request: RequestName<'_>, driver: &str, device: &'a DeviceInput) -> bool {
        if !self.concerns(request) {
            return true;
        }
        let Some(value) = lookup_attribute(self.attribute, driver, device) else { return false };
        let fits = match self.kind {
            Kind::Match => self.values.first().is_none_or(|&first| is_same(value, first)),
            Kind::Distinct => {
                let is_unknown = *value == DeviceAttributeInput::Unknown;
                self.values.is_empty()
                    || !is_unknown && !self.values.iter().any(|&other| is_same(value, other))
            }
        };
        if fits {
            self.values.push(value);
        }
        fits
    }

    /// Takes the device out that was added last.
    pub(super) fn remove(&mut self, request: RequestName<'_>) {
        if self.concerns(request) {
            debug_assert!(!self.values.is_empty(), "what is taken out was added");
            self.values.pop();
        }
    }

    /// No device was added.
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// Values of different types differ, and one of an unknown type is equal to none.
fn is_same(one: &DeviceAttributeInput, other: &DeviceAttributeInput) -> bool {
    *one != DeviceAttributeInput::Unknown && one == other
}

/// An attribute by its full name; one of the driver's own domain may stand there without it.
/// Upstream: `lookupAttribute`.
fn lookup_attribute<'a>(
    name: &str,
    driver: &str,
    device: &'a DeviceInput,
) -> Option<&'a DeviceAttributeInput> {
    device.attributes.get(name).or_else(|| {
        let (domain, id) = name.split_once('/')?;
        (domain == driver).then(|| device.attributes.get(id)).flatten()
    })
}
