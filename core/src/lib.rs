//! The engine of schedlab: takes events and the time, returns decisions and API calls as values.
//! It does no I/O, reads no clock and owns no global.

pub mod ids;
pub mod input;
pub mod quantity;
