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

mod call_table;
pub mod cycle;
pub mod dispatcher;

pub use cycle::{BindingCycle, Bindings, CycleTimes, Stage};
pub use dispatcher::{CallCounts, CallFailure, CallId, DispatchMode, Dispatcher, Finished, OutgoingCall};
