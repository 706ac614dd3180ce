//! What holds while pods run: required node affinity (KEP-2358) and `NoExecute` taints. Pods whose
//! node no longer suits them are evicted.
//!
//! ```text
//!  watch ──▶ dispatcher ──by node──▶ shard 0: nodes, their pods ──▶ evictions ──▶ Api: status, delete
//!                           └──────▶ shard 1: ...                ◀── answers ──┘
//! ```
//!
//! A node and the pods on it are known to one shard alone, so shards share nothing and an update of
//! a node costs the pods of that node. [`Shard`] decides and performs nothing; it is told the time.
//! [`ExecutionManager`] runs shards on threads.
//!
//! Upstream: pkg/controller/tainteviction, whose structure KEP-2358 takes over: work is sharded by
//! node, an eviction is tried five times, 10 ms apart.

mod manager;
mod report;
mod rules;
mod shard;

pub use manager::{ExecutionManager, ExecutionSettings};
pub use report::{ExecutionCounts, ExecutionReport};
pub use shard::{Cause, Eviction, Shard};
