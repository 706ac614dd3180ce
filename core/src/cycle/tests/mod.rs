//! The engine against the naive twin: plugin by plugin, decision by decision, over histories, and
//! however the work is cut up.

mod chunking;
mod configured;
mod decisions;
mod extenders;
mod histories;
mod plugins;
