//! Who asked what how often, and how many bytes it took: by verb, resource and user agent.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

/// What a count is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AuditKey {
    /// As the API names verbs: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`,
    /// `deletecollection`.
    pub verb: &'static str,
    /// `pods`, `pods/binding`, `leases.coordination.k8s.io`; the path of what is no resource.
    pub resource: String,
    /// The user agent up to its first `/`: the program's name.
    pub agent: String,
}

/// Calls of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditCount {
    /// All calls, those that failed included.
    pub calls: u64,
    /// Calls that got an error.
    pub failed: u64,
    /// Bytes of bodies that clients sent.
    pub received_bytes: u64,
    /// Bytes of bodies that were sent to clients; of a watch, all its events.
    pub sent_bytes: u64,
}

/// A reading of the counters.
pub type AuditCounts = BTreeMap<AuditKey, AuditCount>;

/// More names than this are counted together: a client cannot fill the memory with agents.
const KEYS_MAX: usize = 4096;

/// All counters.
#[derive(Debug, Default)]
pub(crate) struct Audit(Mutex<AuditCounts>);

impl Audit {
    /// Adds to a count.
    pub(crate) fn add(&self, key: &AuditKey, more: AuditCount) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !counts.contains_key(key) {
            let known = if counts.len() < KEYS_MAX { key.clone() } else { AuditKey::overflow(key.verb) };
            counts.entry(known).or_default().add(more);
        } else if let Some(count) = counts.get_mut(key) {
            count.add(more);
        }
    }

    pub(crate) fn read(&self) -> AuditCounts {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The counts in the text format of Prometheus.
    pub(crate) fn metrics(&self) -> String {
        type Part = fn(&AuditCount) -> u64;
        let metrics: [(&str, &str, Part); 4] = [
            ("schedlab_apiserver_requests_total", "Requests", |count| count.calls),
            ("schedlab_apiserver_failed_requests_total", "Requests that got an error", |count| count.failed),
            ("schedlab_apiserver_received_bytes_total", "Bytes of request bodies", |count| {
                count.received_bytes
            }),
            ("schedlab_apiserver_sent_bytes_total", "Bytes of response bodies", |count| count.sent_bytes),
        ];
        let counts = self.read();
        let mut text = String::new();
        for (name, help, part) in metrics {
            let _ = writeln!(
                text,
                "# HELP {name} {help} by verb, resource and user agent.\n# TYPE {name} counter"
            );
            for (key, count) in &counts {
                let (verb, resource, agent) = (key.verb, escape(&key.resource), escape(&key.agent));
                let _ = writeln!(
                    text,
                    "{name}{{verb=\"{verb}\",resource=\"{resource}\",agent=\"{agent}\"}} {}",
                    part(count)
                );
            }
        }
        text
    }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

impl AuditKey {
    fn overflow(verb: &'static str) -> Self {
        Self { verb, resource: "other".to_owned(), agent: "other".to_owned() }
    }
}

impl AuditCount {
    fn add(&mut self, more: AuditCount) {
        self.calls += more.calls;
        self.failed += more.failed;
        self.received_bytes += more.received_bytes;
        self.sent_bytes += more.sent_bytes;
    }
}

/// What happened between two readings; what did not happen is left out.
#[must_use]
pub fn audit_since(later: &AuditCounts, earlier: &AuditCounts) -> AuditCounts {
    let none = AuditCount::default();
    let difference = |(key, count): (&AuditKey, &AuditCount)| {
        let before = earlier.get(key).unwrap_or(&none);
        let since = AuditCount {
            calls: count.calls - before.calls,
            failed: count.failed - before.failed,
            received_bytes: count.received_bytes - before.received_bytes,
            sent_bytes: count.sent_bytes - before.sent_bytes,
        };
        (since != none).then(|| (key.clone(), since))
    };
    later.iter().filter_map(difference).collect()
}

/// The program's name in a user agent.
pub(crate) fn agent_name(user_agent: Option<&str>) -> String {
    const LENGTH_MAX: usize = 64;
    let name = user_agent.unwrap_or("unknown").split(['/', ' ']).next().unwrap_or("unknown");
    let name: String = name.chars().take(LENGTH_MAX).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(agent: &str) -> AuditKey {
        AuditKey { verb: "get", resource: "pods".to_owned(), agent: agent_name(Some(agent)) }
    }

    #[test]
    fn calls_are_counted_by_the_name_of_the_program() {
        let audit = Audit::default();
        let one = AuditCount { calls: 1, sent_bytes: 10, ..AuditCount::default() };
        audit.add(&key("kube-scheduler/v1.38 (linux/amd64)"), one);
        let earlier = audit.read();
        audit.add(&key("kube-scheduler/v1.39"), one);
        audit.add(&key(""), AuditCount { calls: 1, failed: 1, ..AuditCount::default() });
        let since = audit_since(&audit.read(), &earlier);
        let calls: Vec<_> = since.iter().map(|(key, count)| (key.agent.as_str(), count.calls)).collect();
        assert_eq!(calls, [("kube-scheduler", 1), ("unknown", 1)]);
        let expected =
            "schedlab_apiserver_requests_total{verb=\"get\",resource=\"pods\",agent=\"kube-scheduler\"} 2";
        assert!(audit.metrics().contains(expected));
    }

    #[test]
    fn clients_cannot_fill_the_memory_with_agents() {
        let audit = Audit::default();
        for number in 0..2 * KEYS_MAX {
            audit.add(&key(&format!("agent-{number}")), AuditCount { calls: 1, ..AuditCount::default() });
        }
        let counts = audit.read();
        assert_eq!(counts.len(), KEYS_MAX + 1);
        assert_eq!(counts.values().map(|count| count.calls).sum::<u64>(), 2 * KEYS_MAX as u64);
    }
}
