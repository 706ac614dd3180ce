//! The API server through its socket.

mod client;
mod fuzz;
mod kubectl;
mod limits;
mod objects;
mod patches;
mod watches;
