//! The scheduling queue: pods ready to be tried, pods that wait for time to pass, pods that wait
//! for something to happen, and pods that are being tried.

pub mod active;
pub mod backoff;
pub mod entry;
pub mod hints;
mod in_flight;
pub mod incoming;
pub mod interest;
pub mod order;
pub mod plugin_set;
pub mod scheduling_queue;
mod waiting;

pub use crate::framework::event;
pub use entry::{ProfileNumber, QueuePlace, QueuedPod};
pub use event::{Action, ClusterEvent, Event, EventResource};
pub use plugin_set::{PluginNumber, PluginSet};
pub use scheduling_queue::{QueueCounts, QueueHost, QueueSettings, SchedulingQueue, Scope, Strategy};
