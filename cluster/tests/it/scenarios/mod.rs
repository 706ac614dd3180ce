//! Situations from the proposals' test plans and from upstream's integration tests, told in our own
//! words and played by the real scheduler against the real store. `docs/kep-coverage.md` says which
//! test tells which situation.

#![allow(dead_code, reason = "the lab offers more than the families so far ask for")]

mod calls;
mod coverage;
mod lab;
mod manifest;
mod nominated;
mod plugin;
mod preemption;
mod requeue;
mod setup;
