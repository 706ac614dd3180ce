//! How fast nodes that are not ready get a taint `NoExecute`: zone by zone, slower where many are not
//! ready, and not at all where none is.
//!
//! ```text
//!                  every 5 s: count who is ready                     every 100 ms, if the rate allows
//!  node ──▶ zone { state, rate } ── not ready ──▶ queue of the zone ─────────────────────────────▶ tainted
//!                                └─ ready ──────▶ out of the queue, taints taken away
//! ```
//!
//! Upstream: node_lifecycle_controller.go `monitorNodeHealth`, `handleDisruption`, `doNoExecuteTaintingPass`;
//! scheduler/rate_limited_queue.go `RateLimitedTimedQueue`.
//! Differs: nodes send no heartbeats here; a condition `Ready` holds until it is changed, and a node without
//! one counts as ready. Upstream puts a node that waits behind the others at every look, in
//! the order of a map; here who waits longest is first (`nodes_are_tainted_at_the_rate_of_their_zone`).

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashSet;

use super::super::config::ConfigFields;
use super::super::{ControllerConfigError, ControllerSettings};
use crate::api::NodeNameId;

/// Upstream: `--node-monitor-period`.
pub(super) const MONITOR_PERIOD_NS: u64 = 5_000_000_000;
/// Upstream: scheduler/rate_limited_queue.go `NodeEvictionPeriod`.
pub(super) const TAINTING_PERIOD_NS: u64 = 100_000_000;
/// Fewer nodes than these never make a zone an unhealthy one. Upstream: `ComputeZoneState`.
const NOT_READY_MIN: usize = 3;

/// Upstream: the flags `--node-eviction-rate` and those beside it, with their defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EvictionRates {
    /// Nodes a second, where a zone is healthy.
    pub(super) healthy: f64,
    /// Nodes a second, where a large zone is not.
    pub(super) unhealthy: f64,
    /// The part of nodes that are not ready from which on a zone is unhealthy.
    pub(super) unhealthy_threshold: f64,
    /// Zones with more nodes than these are large.
    pub(super) large_zone: usize,
}

impl EvictionRates {
    pub(super) fn read(settings: &ControllerSettings) -> Result<EvictionRates, ControllerConfigError> {
        let mut config = ConfigFields::of(settings)?;
        let rates = EvictionRates {
            healthy: config.number("nodeEvictionRate", 0.1, 0.0)?,
            unhealthy: config.number("secondaryNodeEvictionRate", 0.01, 0.0)?,
            unhealthy_threshold: config.number("unhealthyZoneThreshold", 0.55, 0.0)?,
            large_zone: usize::try_from(config.whole("largeClusterSizeThreshold", 50, 0)?)
                .unwrap_or(usize::MAX),
        };
        config.finish()?;
        Ok(rates)
    }
}

/// How a zone is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ZoneState {
    Initial,
    Normal,
    PartialDisruption,
    FullDisruption,
}

/// Upstream: client-go flowcontrol's token bucket with a burst of 1.
#[derive(Clone, Copy, Debug)]
struct Limiter {
    per_second: f64,
    tokens: f64,
    at_ns: u64,
}

impl Limiter {
    fn new(per_second: f64, now_ns: u64) -> Limiter {
        Limiter { per_second, tokens: 1.0, at_ns: now_ns }
    }

    #[allow(clippy::cast_precision_loss, reason = "a time of minutes")]
    fn fill(&mut self, now_ns: u64) {
        let passed_s = now_ns.saturating_sub(self.at_ns) as f64 / 1e9;
        self.tokens = (self.tokens + passed_s * self.per_second).min(1.0);
        self.at_ns = self.at_ns.max(now_ns);
    }

    fn try_accept(&mut self, now_ns: u64) -> bool {
        if self.per_second <= 0.0 {
            return false;
        }
        self.fill(now_ns);
        // A hair below one is rounding: the tick at which the token is due is not missed.
        let accepts = 1.0 - 1e-9 <= self.tokens;
        if accepts {
            self.tokens = (self.tokens - 1.0).max(0.0);
        }
        accepts
    }

    /// Upstream: `SwapLimiter`.
    fn swap(&mut self, per_second: f64, now_ns: u64) {
        if (self.per_second - per_second).abs() < f64::EPSILON {
            return;
        }
        let was_open = self.try_accept(now_ns);
        *self = Limiter::new(per_second, now_ns);
        if !was_open {
            self.tokens = 0.0;
        }
    }

    /// When it will accept; never, if its rate is 0.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time in the future")]
    fn open_ns(&self) -> Option<u64> {
        let missing_s = (1.0 - self.tokens).max(0.0) / self.per_second;
        (0.0 < self.per_second).then(|| self.at_ns.saturating_add((missing_s * 1e9) as u64))
    }
}

#[derive(Debug)]
struct Zone {
    state: ZoneState,
    limiter: Limiter,
    queue: VecDeque<NodeNameId>,
    /// Queued, or taken from the queue and not ready since. Upstream: `UniqueQueue.set`.
    known: FxHashSet<NodeNameId>,
}

impl Zone {
    fn forget(&mut self, node: NodeNameId) {
        if self.known.remove(&node) {
            self.queue.retain(|queued| *queued != node);
        }
    }
}

/// A node at a look.
#[derive(Clone, Copy, Debug)]
pub(super) struct LookedAt<'a> {
    pub(super) name: NodeNameId,
    /// Upstream: component-helpers node/topology `GetZoneKey`.
    pub(super) zone: &'a str,
    /// `status` of condition `Ready`.
    pub(super) ready: Ready,
    /// Label `node.kubernetes.io/exclude-disruption`.
    pub(super) is_excluded: bool,
    /// It has the taint `NoExecute` of its condition.
    pub(super) has_own: bool,
    /// It has the taint `NoExecute` of the other bad condition.
    pub(super) has_opposite: bool,
    /// The controller has not looked at it before.
    pub(super) is_new: bool,
}

/// `status` of condition `Ready`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ready {
    True,
    False,
    Unknown,
}

/// What a look asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// The taints `NoExecute` go.
    Clear(NodeNameId),
    /// The taint of the other condition is replaced at once.
    Swap(NodeNameId),
}

/// All zones.
#[derive(Debug)]
pub(super) struct Zones {
    rates: EvictionRates,
    zones: BTreeMap<String, Zone>,
    /// Zones that were left without nodes keep their queue, and lose their state.
    known_states: FxHashSet<String>,
}

impl Zones {
    pub(super) fn new(rates: EvictionRates) -> Zones {
        Zones { rates, zones: BTreeMap::new(), known_states: FxHashSet::default() }
    }

    /// Upstream: `addPodEvictorForNewZone`.
    fn add(&mut self, zone: &str, now_ns: u64) {
        if self.known_states.insert(zone.to_owned()) {
            let limiter = Limiter::new(self.rates.healthy, now_ns);
            let fresh = Zone {
                state: ZoneState::Initial,
                limiter,
                queue: VecDeque::new(),
                known: FxHashSet::default(),
            };
            self.zones.insert(zone.to_owned(), fresh);
        }
    }

    /// A look at all nodes, in the order of their names.
    pub(super) fn monitor(&mut self, nodes: &[LookedAt<'_>], now_ns: u64) -> Vec<Asked> {
        let mut asked = Vec::new();
        nodes.iter().for_each(|node| self.add(node.zone, now_ns));
        for node in nodes {
            let zone = self.zones.get_mut(node.zone).expect("added above");
            if node.is_new {
                asked.push(Asked::Clear(node.name));
                zone.forget(node.name);
            }
            match node.ready {
                Ready::True => {
                    if !node.is_new {
                        asked.push(Asked::Clear(node.name));
                    }
                    zone.forget(node.name);
                }
                Ready::False | Ready::Unknown if node.has_opposite && !node.is_new => {
                    asked.push(Asked::Swap(node.name))
                }
                Ready::False | Ready::Unknown => {
                    let waits = zone.queue.contains(&node.name);
                    if !node.has_own && !waits {
                        zone.known.remove(&node.name);
                    }
                    if zone.known.insert(node.name) {
                        zone.queue.push_back(node.name);
                    }
                }
            }
        }
        self.handle_disruption(nodes, now_ns, &mut asked);
        asked
    }

    /// Upstream: `handleDisruption`.
    fn handle_disruption(&mut self, nodes: &[LookedAt<'_>], now_ns: u64, asked: &mut Vec<Asked>) {
        let mut counted: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for node in nodes.iter().filter(|node| !node.is_excluded) {
            let (ready, unready) = counted.entry(node.zone).or_default();
            *(if node.ready == Ready::True { ready } else { unready }) += 1;
        }
        self.known_states.retain(|zone| counted.contains_key(zone.as_str()));
        let new_states: BTreeMap<&str, ZoneState> =
            counted.iter().map(|(zone, counts)| (*zone, self.state_of(*counts))).collect();
        let all_are_down = new_states.values().all(|state| *state == ZoneState::FullDisruption);
        let mut before =
            self.zones.iter().filter(|(zone, _)| self.known_states.contains(*zone)).map(|(_, it)| it.state);
        let all_were_down = before.all(|state| state == ZoneState::FullDisruption);
        if all_are_down && all_were_down {
            return;
        }
        if all_are_down {
            asked.extend(nodes.iter().map(|node| Asked::Clear(node.name)));
            for zone in self.zones.values_mut() {
                zone.queue.clear();
                zone.known.clear();
                zone.limiter.swap(0.0, now_ns);
                zone.state = ZoneState::FullDisruption;
            }
            return;
        }
        for (name, state) in new_states {
            let (ready, unready) = counted[name];
            let zone = self.zones.get_mut(name).expect("every counted zone is there");
            if all_were_down || zone.state != state {
                let per_second = rate(self.rates, state, ready + unready);
                zone.limiter.swap(per_second, now_ns);
                zone.state = state;
            }
        }
    }

    /// Upstream: `ComputeZoneState`.
    #[allow(clippy::cast_precision_loss, reason = "a part of a number of nodes")]
    fn state_of(&self, (ready, unready): (usize, usize)) -> ZoneState {
        let part = unready as f64 / (ready + unready).max(1) as f64;
        if ready == 0 && 0 < unready {
            ZoneState::FullDisruption
        } else if NOT_READY_MIN <= unready && self.rates.unhealthy_threshold <= part {
            ZoneState::PartialDisruption
        } else {
            ZoneState::Normal
        }
    }

    /// The nodes that may be tainted now, those that went meanwhile included.
    pub(super) fn take_due(&mut self, now_ns: u64) -> Vec<NodeNameId> {
        let mut due = Vec::new();
        for zone in self.zones.values_mut() {
            while !zone.queue.is_empty() && zone.limiter.try_accept(now_ns) {
                due.extend(zone.queue.pop_front());
            }
        }
        due
    }

    pub(super) fn forget(&mut self, node: NodeNameId) {
        self.zones.values_mut().for_each(|zone| zone.forget(node));
    }

    /// When a rate allows the next taint.
    pub(super) fn next_due_ns(&self) -> Option<u64> {
        let waiting = self.zones.values().filter(|zone| !zone.queue.is_empty());
        waiting.filter_map(|zone| zone.limiter.open_ns()).min()
    }

    /// A zone is not in its normal state: a node that comes or changes may make it so.
    pub(super) fn is_disrupted(&self) -> bool {
        let is_unusual = |zone: &Zone| !matches!(zone.state, ZoneState::Initial | ZoneState::Normal);
        self.zones.iter().any(|(name, zone)| self.known_states.contains(name) && is_unusual(zone))
    }
}

/// Upstream: `setLimiterInZone`, `HealthyQPSFunc`, `ReducedQPSFunc`.
fn rate(rates: EvictionRates, state: ZoneState, nodes: usize) -> f64 {
    match state {
        ZoneState::PartialDisruption if nodes <= rates.large_zone => 0.0,
        ZoneState::PartialDisruption => rates.unhealthy,
        ZoneState::Initial | ZoneState::Normal | ZoneState::FullDisruption => rates.healthy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const RATES: EvictionRates =
        EvictionRates { healthy: 0.1, unhealthy: 0.01, unhealthy_threshold: 0.55, large_zone: 50 };

    /// So many ready and not ready nodes of a zone.
    fn nodes(zone: &'static str, from: u32, ready: u32, unready: u32) -> Vec<LookedAt<'static>> {
        let node = |at: u32| LookedAt {
            name: NodeNameId::from_index(from + at),
            zone,
            ready: if at < ready { Ready::True } else { Ready::False },
            is_excluded: false,
            has_own: false,
            has_opposite: false,
            is_new: false,
        };
        (0..ready + unready).map(node).collect()
    }

    /// How many nodes are tainted within so many seconds after one look.
    fn tainted(zones: &mut Zones, from_s: u64, seconds: u64) -> usize {
        let ticks = (0..=seconds * 10).map(|tick| from_s * SECOND + tick * TAINTING_PERIOD_NS);
        ticks.map(|now_ns| zones.take_due(now_ns).len()).sum()
    }

    #[test]
    fn nodes_are_tainted_at_the_rate_of_their_zone() {
        let cases = [
            ("healthy zone: one at once, then one in ten seconds", 10, 4, 30, 4),
            ("two of three are not enough to call it unhealthy", 1, 2, 30, 2),
            ("unhealthy small zone: none", 2, 8, 300, 0),
            ("unhealthy large zone: one in a hundred seconds", 20, 40, 300, 4),
        ];
        for (name, ready, unready, seconds, expected) in cases {
            let mut zones = Zones::new(RATES);
            // A second zone that is fine keeps the cluster out of full disruption.
            let mut all = nodes("b", 1000, 5, 0);
            all.extend(nodes("a", 0, ready, unready));
            zones.monitor(&all, 0);
            assert_eq!(tainted(&mut zones, 0, seconds), expected, "case: {name}");
        }
    }

    #[test]
    fn zone_without_ready_nodes_keeps_the_normal_rate_beside_a_zone_that_has_some() {
        let mut zones = Zones::new(RATES);
        let all = [nodes("a", 0, 0, 5), nodes("b", 100, 5, 0)].concat();
        zones.monitor(&all, 0);
        assert_eq!(tainted(&mut zones, 0, 40), 5);
    }

    #[test]
    fn cluster_without_ready_nodes_taints_none_and_takes_taints_away() {
        let mut zones = Zones::new(RATES);
        let all = [nodes("a", 0, 0, 2), nodes("b", 100, 0, 1)].concat();
        let asked = zones.monitor(&all, 0);
        assert_eq!(asked.len(), 3, "{asked:?}");
        assert_eq!((tainted(&mut zones, 0, 600), zones.next_due_ns()), (0, None));
        // One is back: the others get their taints, each zone at its rate, the first not before its token.
        let back = [nodes("a", 0, 1, 1), nodes("b", 100, 0, 1)].concat();
        zones.monitor(&back, 600 * SECOND);
        assert_eq!(tainted(&mut zones, 600, 9), 0);
        assert_eq!(tainted(&mut zones, 609, 2), 2);
    }

    #[test]
    fn ready_node_leaves_the_queue_and_a_tainted_one_does_not_come_back() {
        let mut zones = Zones::new(RATES);
        let mut all = nodes("a", 0, 3, 2);
        zones.monitor(&all, 0);
        assert_eq!(zones.take_due(0), [all[3].name]);
        all[3].has_own = true;
        all[4].ready = Ready::True;
        zones.monitor(&all, 5 * SECOND);
        assert_eq!(tainted(&mut zones, 5, 60), 0);
        all[3].has_own = false;
        zones.monitor(&all, 70 * SECOND);
        assert_eq!(tainted(&mut zones, 70, 10), 1, "somebody took the taint away");
    }

    #[test]
    fn excluded_nodes_are_not_counted() {
        let mut zones = Zones::new(RATES);
        let mut all = nodes("a", 0, 2, 4);
        all[2..].iter_mut().for_each(|node| node.is_excluded = true);
        zones.monitor(&all, 0);
        assert!(!zones.is_disrupted());
        assert_eq!(tainted(&mut zones, 0, 30), 4);
    }
}
