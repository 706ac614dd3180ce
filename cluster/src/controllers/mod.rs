//! Controllers of a cluster that scheduling depends on. Nothing here runs by itself: whoever wants a
//! controller calls it when something changed.

pub mod node_lifecycle;
