//! A scheduler as a process of its own, whoever wrote it: started against the API server in this process,
//! measured from outside, and ended whatever happens.
//!
//! ```text
//! CMD {kubeconfig} {config} ──words──▶ child, in a process group of its own ──HTTP──▶ ApiServer ─▶ store
//!        │                               │ stdout, stderr: the last lines are kept        │ audit
//!        └─ KubeSchedulerConfiguration   └ /proc: processor time, memory                  └ calls, bytes
//! ```

mod command;
mod conform;
mod process;
mod scrape;
mod under_test;

pub use command::{CommandError, CommandTemplate};
pub use conform::{
    ConformDecision, ConformError, ConformEvent, ConformOptions, ConformReport, Difference, OurDecision,
    conform,
};
pub use under_test::{FetchText, UnderTest};
