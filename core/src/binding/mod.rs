//! From a chosen node to a bound pod: the stages between, who waits where, and the calls that go
//! to the API.
//!
//! ```text
//! assume ▶ Reserve ▶ Permit ─┬─▶ announce ▶ (wait) ▶ PreBind ▶ Bind ▶ PostBind
//!                            │  nominatedNodeName    one plugin after the other
//!                            └─▶ any refusal: Unreserve in reverse, forget, back to the queue
//! ```
//!
//! A pod whose profile has nothing to do between assuming and binding takes none of this: its
//! binding is handed out in the cycle that chose the node.

pub mod api_dispatcher;
pub mod binding_cycle;
mod call_table;
mod checks;

pub use api_dispatcher::{
    ApiDispatcher, CallFailure, CallId, DispatchCounts, DispatchMode, Finished, OutgoingCall,
};
pub use binding_cycle::{BindingCycle, BindingCycles, BindingStage, CycleTimes};
