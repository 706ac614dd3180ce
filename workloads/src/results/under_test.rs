//! What a scheduler under test took, as it is seen from outside.

use serde::{Deserialize, Serialize};

/// A scheduler that runs as a process of its own, and what it took in the measured part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UnderTestUsage {
    /// How it was started.
    pub command: String,
    /// Its processor time, where the system tells.
    pub cpu_ms: Option<f64>,
    /// Its highest resident set, since it began.
    pub peak_rss_bytes: Option<u64>,
    /// Processor time of the threads that serve the API.
    pub server_cpu_ms: Option<f64>,
    /// Calls of the API over the network, by program, verb and resource.
    pub calls: Vec<AgentCalls>,
}

/// Calls of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCalls {
    /// The program, by its user agent.
    pub agent: String,
    /// The API's name of the verb.
    pub verb: String,
    /// `pods`, `pods/binding`.
    pub resource: String,
    /// All calls.
    pub calls: u64,
    /// Those that got an error.
    pub failed: u64,
    /// Bytes of bodies that it sent.
    pub sent_bytes: u64,
    /// Bytes of bodies that it got; of a watch, its events.
    pub received_bytes: u64,
}

impl UnderTestUsage {
    /// What was taken since an earlier reading of the same process.
    #[must_use]
    pub fn since(&self, earlier: &UnderTestUsage) -> UnderTestUsage {
        let less = |now: Option<f64>, then: Option<f64>| Some((now? - then?).max(0.0));
        UnderTestUsage {
            command: self.command.clone(),
            cpu_ms: less(self.cpu_ms, earlier.cpu_ms),
            peak_rss_bytes: self.peak_rss_bytes,
            server_cpu_ms: less(self.server_cpu_ms, earlier.server_cpu_ms),
            calls: self.calls.iter().filter_map(|calls| calls.since(&earlier.calls)).collect(),
        }
    }

    /// All calls.
    #[must_use]
    pub fn call_count(&self) -> u64 {
        self.calls.iter().map(|calls| calls.calls).sum()
    }
}

impl AgentCalls {
    fn since(&self, earlier: &[AgentCalls]) -> Option<AgentCalls> {
        let is_same = |other: &&AgentCalls| {
            (&other.agent, &other.verb, &other.resource) == (&self.agent, &self.verb, &self.resource)
        };
        let then = earlier.iter().find(is_same).cloned().unwrap_or_default();
        let since = AgentCalls {
            calls: self.calls.saturating_sub(then.calls),
            failed: self.failed.saturating_sub(then.failed),
            sent_bytes: self.sent_bytes.saturating_sub(then.sent_bytes),
            received_bytes: self.received_bytes.saturating_sub(then.received_bytes),
            ..self.clone()
        };
        let is_any = 0 < since.calls + since.sent_bytes + since.received_bytes;
        is_any.then_some(since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(verb: &str, calls: u64) -> AgentCalls {
        AgentCalls { agent: "kube-scheduler".to_owned(), verb: verb.to_owned(), calls, ..Default::default() }
    }

    #[test]
    fn usage_since_an_earlier_reading_leaves_out_what_did_not_happen() {
        let earlier = UnderTestUsage {
            cpu_ms: Some(5.0),
            calls: vec![calls("list", 3), calls("watch", 19)],
            ..UnderTestUsage::default()
        };
        let later = UnderTestUsage {
            cpu_ms: Some(7.5),
            peak_rss_bytes: Some(9),
            calls: vec![calls("create", 4), calls("list", 3), calls("watch", 20)],
            ..UnderTestUsage::default()
        };
        let since = later.since(&earlier);
        assert_eq!((since.cpu_ms, since.peak_rss_bytes, since.server_cpu_ms), (Some(2.5), Some(9), None));
        assert_eq!(since.calls, [calls("create", 4), calls("watch", 1)]);
        assert_eq!(since.call_count(), 5);
    }
}
