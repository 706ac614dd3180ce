//! The embedded cluster as its clients see it.

mod binding;
mod calls;
mod controllers;
mod deletion;
mod errors;
mod extenders;
mod names;
mod objects;
mod pod_events;
mod replay;
mod running;
mod scenarios;
mod slow_api;
mod status;
mod support;
mod watching;
