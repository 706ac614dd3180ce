//! What a reader asks about a rejection by pod affinity: which term, which domain, which pods.

use crate::class::PodClass;
use crate::framework::detail::{AffinityRule, Detail, PODS_NAMED_MAX, PodAffinityDetail};
use crate::ids::ClassId;
use crate::input::{LabelSelectorInput, PodAffinityTermInput};
use crate::topology::affinity::AffinityState;
use crate::topology::counter::{Counter, CounterId};
use crate::topology::domains::NO_DOMAIN;
use crate::world::World;

/// A pod of whose class a term is.
struct Term<'a> {
    input: &'a PodAffinityTermInput,
    /// The namespace that is meant when the term names none.
    own_namespace: &'a str,
}

/// The rule that the row breaks: the first of the three that upstream looks at.
pub(super) fn details(
    world: &World,
    class: &PodClass,
    row: usize,
    state: &AffinityState,
    (may_be_first, repelling): (bool, Vec<CounterId>),
    details: &mut Vec<Detail>,
) {
    let at = Place { world, row };
    let own = |terms: &[PodAffinityTermInput]| terms.to_vec();
    let required = own(&class.input.pod_affinity.required);
    for &id in state.required.iter().filter(|&&id| !at.has_any(id, may_be_first)) {
        let key = at.key_text(at.counter(id));
        // One counter stands for all terms of its key.
        for input in required.iter().filter(|term| term.topology_key == key) {
            let term = Term { input, own_namespace: &class.input.namespace };
            details.push(at.detail(AffinityRule::Affinity, id, &term));
        }
    }
    if !details.is_empty() {
        return;
    }
    let anti = own(&class.input.pod_anti_affinity.required);
    for (&id, input) in state.repelled_by.iter().zip(&anti).filter(|(id, _)| at.is_violated(**id)) {
        let term = Term { input, own_namespace: &class.input.namespace };
        details.push(at.detail(AffinityRule::AntiAffinity, id, &term));
    }
    if !details.is_empty() {
        return;
    }
    for id in repelling.into_iter().filter(|&id| at.is_violated(id)) {
        let Some((owner, index)) = at.carrier(id) else { continue };
        let input = &world.class(owner).input;
        let term = Term { input: &input.pod_anti_affinity.required[index], own_namespace: &input.namespace };
        details.push(at.detail(AffinityRule::ExistingAntiAffinity, id, &term));
    }
}

#[derive(Clone, Copy)]
struct Place<'a> {
    world: &'a World,
    row: usize,
}

impl<'a> Place<'a> {
    fn counter(self, id: CounterId) -> &'a Counter {
        self.world.topology().get(id)
    }

    fn domain(self, counter: &Counter) -> u32 {
        self.world.topology().domains().of_rows(counter.key())[self.row]
    }

    fn count(self, id: CounterId) -> i64 {
        let counter = self.counter(id);
        i64::from(counter.counts()[self.domain(counter) as usize])
    }

    fn has_any(self, id: CounterId, may_be_first: bool) -> bool {
        self.domain(self.counter(id)) != NO_DOMAIN && (may_be_first || self.count(id) > 0)
    }

    fn is_violated(self, id: CounterId) -> bool {
        self.count(id) > 0
    }

    fn key_text(self, counter: &Counter) -> &'a str {
        let key = self.world.topology().domains().label_key(counter.key());
        key.map_or("", |key| self.world.vocabulary.symbols.text(key))
    }

    /// A class whose pods carry the counter's term, and which of its terms that is.
    fn carrier(self, id: CounterId) -> Option<(ClassId, usize)> {
        let counter = self.counter(id);
        let pods = self.world.pods_counted(counter, Some(self.domain(counter)), 1);
        let pod = self.world.pods().find(*pods.first()?)?;
        let class = self.world.class(self.world.pods().get(pod).class);
        let term = counter.carried_term()?;
        let at = class.pod_anti_affinity.required.iter().position(|own| own == term)?;
        Some((class.id, at))
    }

    fn detail(self, rule: AffinityRule, id: CounterId, term: &Term<'_>) -> Detail {
        let counter = self.counter(id);
        let key = self.world.topology().domains().label_key(counter.key());
        // Affinity is unmet because the pods are elsewhere; the other two because they are here.
        let (looked_at, pod_count) = match rule {
            AffinityRule::Affinity => (None, counter.hits()),
            _ => (Some(self.domain(counter)), self.count(id)),
        };
        Detail::PodAffinity(PodAffinityDetail {
            rule,
            topology_key: term.input.topology_key.clone(),
            selector: selector_text(term.input.label_selector.as_ref()),
            namespaces: namespaces_text(term),
            domain: key.and_then(|key| self.world.node_label(self.row, key)).map(str::to_owned),
            pod_count,
            pods: self.world.pods_counted(counter, looked_at, PODS_NAMED_MAX),
        })
    }
}

fn namespaces_text(term: &Term<'_>) -> String {
    match (&term.input.namespaces[..], &term.input.namespace_selector) {
        ([], None) => term.own_namespace.to_owned(),
        (names, None) => names.join(", "),
        ([], Some(selector)) => format!("namespaces with {}", selector_text(Some(selector))),
        (names, Some(selector)) => {
            format!("{} and namespaces with {}", names.join(", "), selector_text(Some(selector)))
        }
    }
}

/// A selector as `kubectl -l` takes it.
fn selector_text(selector: Option<&LabelSelectorInput>) -> String {
    let Some(selector) = selector else { return "no selector".to_owned() };
    let mut parts: Vec<String> =
        selector.match_labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    parts.extend(selector.match_expressions.iter().map(|it| match it.operator.as_str() {
        "Exists" => it.key.clone(),
        "DoesNotExist" => format!("!{}", it.key),
        operator => format!("{} {} ({})", it.key, operator.to_lowercase(), it.values.join(",")),
    }));
    if parts.is_empty() { "any labels".to_owned() } else { parts.join(",") }
}
