//! The scheduling queue: pods ready to be tried, pods that wait for time to pass, pods that wait
//! for something to happen, and pods that are being tried.

pub mod active_queue;
pub mod backoff_queue;
mod checks;
pub mod events_of_interest;
pub mod hints;
mod in_flight_events;
pub mod order;
pub mod plugin_set;
pub mod pod_group_queue;
pub mod queue_incoming_pods;
pub mod queued_pod_info;
pub mod scheduling_queue;
mod unschedulable_pods;

pub use crate::framework::event;
pub use event::{ActionType, ClusterEvent, Event, EventResource};
pub use plugin_set::{PluginNumber, PluginNumberSet};
pub use queued_pod_info::{ProfileNumber, QueuePlace, QueuedPod};
pub use scheduling_queue::{
    PreCheck, QueueCounts, QueuePlugins, QueueSettings, QueueingStrategy, SchedulingQueue,
};
