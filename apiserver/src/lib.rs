//! The embedded cluster as a Kubernetes API server: JSON over HTTP/1.1, for kubectl and any scheduler.
//!
//! ```text
//!   request ─▶ server (limits) ─▶ route ─▶ handle ─┬─▶ write, patch, scale ──▶ store (admission, versions)
//!                                                  ├─▶ read ─▶ feed ◀── thread ◀── the store's log
//!                                                  ├─▶ watch ─▶ feed
//!                                                  └─▶ discovery, openapi, review
//! ```
//!
//! What an object must be and who may write it is the store's to say (`schedlab_cluster`); here is what the
//! wire adds: paths, selectors, patches, tables, watches. Bodies are JSON, but for the few kinds
//! that typed clients send as protobuf (`protobuf.rs`); answers are JSON.

mod answer;
mod audit;
mod body;
mod discovery;
mod dry_run;
mod events;
mod feed;
mod form;
mod handle;
mod io;
mod kubeconfig;
mod lists;
mod load;
mod openapi;
mod patch;
mod protobuf;
mod query;
mod read;
mod resources;
mod review;
mod route;
mod scale;
mod selector;
mod server;
mod table;
mod watch;
mod write;

pub use audit::{AuditCount, AuditCounts, AuditKey, audit_since};
pub use load::{Loaded, ObjectLoadError, load, load_fake_nodes};
pub use server::{ApiServer, ServeError, ServeOptions};
