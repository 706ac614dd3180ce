//! A scheduler over HTTP against the lab's API server, all in this process, on loopback.

mod election;
mod following;
mod scheduling;
mod support;
