//! What tests are written with: builders that read like sentences, and one harness for "create nodes,
//! create pods, run until idle, see who is where".
//!
//! | To build | Write |
//! |---|---|
//! | an object of the API | [`manifest`]: `pod("web").asks("cpu", "2").tolerates("gpu")` |
//! | an input of the engine | [`input`]: `pod().cpu("2").tolerates("gpu")` |
//! | a scheduler that is told by hand | [`input::SchedulerLab`] |
//! | a cluster with schedulers, a clock and faults | [`setup::Setup`], then [`lab::Lab`] |
//! | a plugin that does as told | [`plugin::Scripted`] |
//!
//! The inputs live in `schedlab_core::testkit`: tests inside `core` would see another copy of the types
//! of `core` here. For the same reason tests inside `cluster` use [`manifest`] and [`input`] only; its
//! tests in `cluster/tests` use everything.

pub mod calls;
pub mod lab;
pub mod manifest;
pub mod plugin;
pub mod setup;

pub use schedlab_core::testkit as input;
