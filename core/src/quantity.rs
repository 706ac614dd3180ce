//! Kubernetes quantities.

/// An exact quantity in billionths (the finest unit the API keeps).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    nanos: i128,
}
