//! The scheduling queue. For now the active part: pods ready to be tried. Pods that fit nowhere
//! and gated pods wait in the pod table by their state.

pub mod active;
