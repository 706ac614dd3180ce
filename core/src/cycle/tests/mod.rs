//! The engine against the naive twin: plugin by plugin, decision by decision, over histories, and
//! however the work is cut up.

mod cases;
mod chunking;
mod configured;
mod decisions;
mod extenders;
mod histories;
mod opportunistic_batching;
mod plugins;
mod preemption;
