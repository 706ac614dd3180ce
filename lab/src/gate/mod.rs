//! Is this build slower than that one?
//!
//! ```text
//! two builds --wall_clock--> sessions of ABBA quartets -> rows
//!            --counts------> callgrind's files --------> rows
//!            --workloads---> a process a run ----------> rows
//! ```
//!
//! Instructions are exact and judged by a fifth of a percent; wall clock needs an interval wholly
//! beyond the kernel's own fence, which `noise` takes from a history of builds against themselves.

mod counts;
mod cpu;
mod kernels;
mod noise;
mod server;
mod wall_clock;
mod workloads;

pub use cpu::stay_on_core;
pub use kernels::{Calibrated, Filter, KernelPlan, KernelReport, KernelSuite, Measure};
pub use noise::KernelFences;
pub use wall_clock::{Measured, WallClock};
pub(crate) use workloads::run_json_unless;
pub use workloads::{WorkloadPlan, judge_workloads, write_suite};
