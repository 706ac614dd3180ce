//! The extension points around the search: what is asked when no node fits, and on the way from a
//! chosen node to a bound pod. One file a point: a trait and its plain values, no logic of the loop.
//!
//! ```text
//! no node fits ──▶ PostFilter ──▶ nomination, calls
//! node chosen  ──▶ Reserve ──▶ Permit ──▶ PreBindPreFlight ──▶ PreBind ──▶ Bind ──▶ PostBind
//!                     ▲           │ wait                                     │
//!                     └─ Unreserve ◀──────────── any refusal or failure ─────┘
//! ```
//!
//! A plugin performs nothing. It answers, says what is to be called at the API, and asks the loop
//! through its [`Handle`]; the loop does all of that after the plugin returned. Every method takes
//! `&self`: a plugin that remembers something between calls keeps it in an atomic or a mutex of its
//! own. All calls come from the scheduling thread, one after the other, Filter and Score aside.
//!
//! Upstream: kube-scheduler/framework/interface.go.

pub mod bind;
pub mod events;
pub mod handle;
pub mod permit;
pub mod placement;
pub mod post_bind;
pub mod post_filter;
pub mod pre_bind;
pub mod reserve;
pub mod status;

pub use crate::api_call::NominatingInfo;
pub use bind::{Bind, BindPlugin};
pub use events::{
    ActionType, ClassHint, ClusterEvent, EnqueueExtensions, EventResource, Hint, ObjectChange, QueueingHint,
    RegisteredEvent,
};
pub use handle::{Handle, PendingPermit, PodRef, Request, WaitingPod};
pub use permit::{Permit, PermitPlugin};
pub use post_bind::PostBindPlugin;
pub use post_filter::{Failed, NodeCodes, PostFilter, PostFilterPlugin, PostFilterVerdict};
pub use pre_bind::{PreBindPlugin, PreBindProgress, PreBindStep, PreFlight};
pub use reserve::ReservePlugin;
pub use status::{Status, StatusCode};
