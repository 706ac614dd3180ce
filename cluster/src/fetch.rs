//! A text over HTTP, for what is asked once: the metrics of another process.

use std::time::Duration;

/// Longer answers are refused.
const BYTES_MAX: u64 = 64 << 20;

/// The body of an answer with code 200.
pub fn get_text(url: &str, timeout: Duration) -> Result<String, String> {
    let agent: ureq::Agent =
        ureq::Agent::config_builder().timeout_global(Some(timeout)).proxy(None).build().into();
    let mut answer = agent.get(url).call().map_err(|error| error.to_string())?;
    let body = answer.body_mut().with_config().limit(BYTES_MAX).read_to_string();
    body.map_err(|error| error.to_string())
}
