//! Clusters over the network: what an API server serves, as the API that a scheduler talks to.
//!
//! ```text
//! kubeconfig ─▶ Connection (kube's client: TLS, certificates, tokens, exec)
//!                  │
//!   list, watch ◀──┤  a task a kind ─▶ text of an object ─▶ input ─▶ Store ─▶ Watch ─▶ scheduler thread
//!                  │                                                 ▲
//!   binding, patch, event, claim ◀── LiveCluster (Api) ◀── LiveCaller (many at once) ◀── binder thread
//!   lease ◀── LeaderElection
//! ```
//!
//! Objects come as text and become the engine's inputs by the conversion that the embedded cluster uses
//! (`schedlab_cluster::convert`). What the scheduler decides is not decided here.

mod api;
mod caller;
mod claims_bound;
mod cluster;
mod connect;
mod discovery;
mod election;
mod error;
mod event;
mod fetch;
mod follow;
mod lines;
mod object;
mod patch;
mod path;
mod requests;
mod specs;
mod store;
mod table;
mod watch;

pub use caller::LiveCaller;
pub use cluster::{LiveCluster, LiveSettings, PodOnNode};
pub use connect::{Connection, KubeconfigChoice};
pub use election::{ElectionSettings, LeaderElection, Leadership};
pub use error::LiveError;
pub use fetch::get_text_insecurely;
pub use requests::CallLimit;
