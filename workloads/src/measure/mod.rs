//! Measuring a run while it runs: what the threads record, and what becomes of it.
//!
//! The scheduler thread and the binder thread each own a meter; nothing is shared but a switch
//! that says whether the measured part is on. Every cycle is counted; after the first few hundred one
//! in 64 is timed, and the extension points of one in [`EXTENSION_POINTS_EVERY`].

mod durations;
mod machine;
mod meter;
mod reading;
mod scope;
mod switch;
mod windows;

pub use durations::{ATTEMPTS_MAX, AttemptEnd, DurationKind, Durations};
pub use machine::{MachineReading, ThreadId, own_waited_ns};
pub use meter::{BindMeter, CycleMeter, EXTENSION_POINTS_EVERY, Meters, MetersView, PLUGINS_EVERY, Readings};
pub use reading::Live;
pub use scope::PodScope;
pub use switch::Switch;
pub use windows::{Burst, window_for, windows};
