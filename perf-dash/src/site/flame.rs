//! A flamegraph on a page of its own.
//!
//! Its SVG comes with the history and has a script, which zooms and searches. A history may come from
//! anywhere, so the script runs where it can reach nothing: in a frame without an origin, under a
//! policy without a network. The SVG is never a file of its own: opened alone it would have the site's
//! origin.

use maud::{DOCTYPE, Markup, html};

/// A frame from `srcdoc` is held to the policy of the page that it stands in. Frames themselves need
/// no permission: `srcdoc` fetches nothing.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'";

/// What a frame with a flamegraph may do: run scripts, without an origin.
pub(super) const SANDBOX: &str = "allow-scripts";

pub(super) fn page(workload: &str, svg: &str) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { "Flamegraph of " (workload) " · schedlab" }
                style { "html, body, iframe { width: 100%; height: 100%; margin: 0; border: 0; background: #fff }" }
            }
            body { iframe sandbox=(SANDBOX) srcdoc=(svg) title={ "Flamegraph of " (workload) } {} }
        }
    }
}
