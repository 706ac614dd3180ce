//! Extenders: schedulers beside the scheduler that are asked over some wire, after the plugins.
//!
//! The engine performs no I/O: the runtime gives it objects of this trait. They are asked one
//! after the other, each about the nodes that the one before left, and their scores are added to
//! the plugins'.
//!
//! Upstream: schedule_one.go `findNodesThatPassExtenders`, `prioritizeNodes`, `extendersBinding`;
//! framework/preemption/preemption.go `callExtenders`.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::framework::plugin::MAX_NODE_SCORE;
use crate::framework::status::Code;
use crate::ids::{NodeId, PodUid};
use crate::input::PodInput;
use crate::world::World;

/// What a diagnosis calls extenders. Upstream: framework/types.go `ExtenderName`.
pub const EXTENDER_NAME: &str = "Extender";

/// The highest score an extender gives. Upstream: extender/v1/types.go `MaxExtenderPriority`.
pub const MAX_EXTENDER_PRIORITY: i64 = 10;

/// What an extender can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// To leave nodes out.
    Filter,
    /// To score nodes.
    Prioritize,
    /// To change a choice of victims.
    Preempt,
    /// To bind.
    Bind,
}

/// An answer to [`Verb::Filter`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterAnswer {
    /// Nodes that fit, by name.
    pub kept: Vec<String>,
    /// Nodes that do not fit, and why.
    pub failed: Vec<(String, String)>,
    /// Nodes that do not fit whoever is evicted, and why. They win over `failed`.
    pub unresolvable: Vec<(String, String)>,
}

/// Pods to be evicted from a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Victims {
    /// The node.
    pub node: String,
    /// The pods.
    pub pods: Vec<PodUid>,
    /// Disruption budgets that are violated.
    pub pdb_violations: i64,
}

/// An extender that did not answer as it should.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtenderError {
    /// It answered that it failed.
    #[error("{message}")]
    Said {
        /// Its words.
        message: String,
    },
    /// It answered with another status than 200.
    #[error("failed {verb} with extender at URL {url}, code {code}")]
    Status {
        /// The verb, as configured.
        verb: String,
        /// The URL.
        url: String,
        /// The status.
        code: u16,
    },
    /// It could not be asked, or did not answer in time.
    #[error("extender at URL {url}: {why}; is it running, and is httpTimeout long enough?")]
    Unreachable {
        /// The URL.
        url: String,
        /// What the client says.
        why: String,
    },
    /// Its answer cannot be read.
    #[error("extender at URL {url}: the answer cannot be read: {why}")]
    Garbage {
        /// The URL.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// It let a node through that it was not asked about.
    #[error(
        "extender {extender:?} claims a filtered node {node:?} which is not found in the input node list"
    )]
    UnknownNode {
        /// The extender.
        extender: String,
        /// The node.
        node: String,
    },
    /// It names a node for preemption that does not exist.
    #[error("extender {extender:?} claims to preempt on node {node:?}, which does not exist")]
    UnknownVictimNode {
        /// The extender.
        extender: String,
        /// The node.
        node: String,
    },
    /// It names a victim that is not on the node.
    #[error(
        "extender: {extender} claims to preempt pod (UID: {uid}) on node: {node}, but the pod is not found on that node"
    )]
    UnknownVictim {
        /// The extender.
        extender: String,
        /// The pod.
        uid: String,
        /// The node.
        node: String,
    },
    /// It names a node for preemption, but no victim.
    #[error("expected at least one victim pod on node {node:?}")]
    NoVictims {
        /// The node.
        node: String,
    },
    /// The pod is gone.
    #[error("the pod was deleted while extender {extender:?} was to be asked about it")]
    PodGone {
        /// The extender.
        extender: String,
    },
}

/// A scheduler beside the scheduler.
pub trait Extender: fmt::Debug + Send + Sync {
    /// What it is called in messages: its URL.
    fn name(&self) -> &str;

    /// Whether a pod is scheduled without it when it fails.
    fn is_ignorable(&self) -> bool;

    /// Whether it wants to be asked about such pods.
    fn is_interested(&self, pod: &PodInput) -> bool;

    /// Whether it can be asked for this.
    fn does(&self, verb: Verb) -> bool;

    /// The weight of its scores.
    fn weight(&self) -> i64;

    /// Which of the nodes fit.
    fn filter(&self, pod: PodUid, nodes: &[&str]) -> Result<FilterAnswer, ExtenderError>;

    /// Scores, 0 to [`MAX_EXTENDER_PRIORITY`], by node name.
    fn prioritize(&self, pod: PodUid, nodes: &[&str]) -> Result<Vec<(String, i64)>, ExtenderError>;

    /// The candidates that are left, with the victims it wants.
    fn preempt(&self, pod: PodUid, candidates: &[Victims]) -> Result<Vec<Victims>, ExtenderError>;

    /// Binds the pod in the scheduler's place.
    fn bind(&self, pod: PodUid, node: &str) -> Result<(), ExtenderError>;

    /// An answer of it was well formed and is of no use all the same: who counts failures counts it.
    fn answer_refused(&self, _why: &ExtenderError) {}
}

/// The extenders of a scheduler, in the order they are asked.
pub type Extenders = Vec<Arc<dyn Extender>>;

/// Puts ignorable extenders last, as upstream does. Upstream: scheduler.go `buildExtenders`.
#[must_use]
pub fn in_order(mut extenders: Extenders) -> Extenders {
    extenders.sort_by_key(|extender| extender.is_ignorable());
    extenders
}

/// What extenders said about nodes, by name.
pub(crate) type NodeWords = FxHashMap<String, (Code, Arc<str>)>;

/// Asks the extenders that filter, each about what is left of `rows`.
pub(crate) fn find_nodes_that_pass_extenders(
    extenders: &[Arc<dyn Extender>],
    world: &World,
    (uid, pod): (PodUid, &PodInput),
    rows: &mut Vec<u32>,
) -> Result<NodeWords, ExtenderError> {
    let mut words = NodeWords::default();
    for extender in extenders {
        if rows.is_empty() {
            break;
        }
        if !extender.does(Verb::Filter) || !extender.is_interested(pod) {
            continue;
        }
        let names = names_of(world, rows);
        let places: FxHashMap<&str, usize> = names.iter().enumerate().map(|(at, &name)| (name, at)).collect();
        let answer = extender.filter(uid, &names).and_then(|answer| {
            let kept = places_of(extender.as_ref(), &answer.kept, &places)
                .inspect_err(|error| extender.answer_refused(error))?;
            Ok((answer, kept))
        });
        let (answer, kept) = match answer {
            Ok(answer) => answer,
            Err(_) if extender.is_ignorable() => continue,
            Err(error) => return Err(error),
        };
        for (name, why) in answer.failed {
            words.insert(name, (Code::Unschedulable, why.into()));
        }
        for (name, why) in answer.unresolvable {
            words.insert(name, (Code::UnschedulableAndUnresolvable, why.into()));
        }
        debug_assert_eq!(kept.len(), rows.len(), "of each node it is known whether it is kept");
        let mut at = 0;
        rows.retain(|_| {
            at += 1;
            kept[at - 1]
        });
    }
    Ok(words)
}

/// Which of the nodes asked about are kept.
fn places_of(
    extender: &dyn Extender,
    kept: &[String],
    places: &FxHashMap<&str, usize>,
) -> Result<Vec<bool>, ExtenderError> {
    let mut is_kept = vec![false; places.len()];
    for name in kept {
        match places.get(name.as_str()) {
            Some(&at) => is_kept[at] = true,
            None => {
                let (extender, node) = (extender.name().to_owned(), name.clone());
                return Err(ExtenderError::UnknownNode { extender, node });
            }
        }
    }
    Ok(is_kept)
}

/// Adds the scores of all extenders to `totals`. One that fails gives none.
pub(crate) fn add_scores(
    extenders: &[Arc<dyn Extender>],
    world: &World,
    (uid, pod): (PodUid, &PodInput),
    rows: &[u32],
    totals: &mut [i64],
) {
    debug_assert_eq!(rows.len(), totals.len(), "each node has its total");
    let asked: Vec<&Arc<dyn Extender>> = extenders
        .iter()
        .filter(|extender| extender.does(Verb::Prioritize) && extender.is_interested(pod))
        .collect();
    if asked.is_empty() {
        return;
    }
    let names = names_of(world, rows);
    let ask = |extender: &Arc<dyn Extender>| (extender.weight(), extender.prioritize(uid, &names));
    // All wait for their answers at the same time, as upstream's do.
    let answers: Vec<_> = match asked.as_slice() {
        [only] => vec![ask(only)],
        several => std::thread::scope(|scope| {
            let waiting: Vec<_> = several.iter().map(|extender| scope.spawn(|| ask(extender))).collect();
            waiting.into_iter().map(|thread| thread.join().expect("extenders do not panic")).collect()
        }),
    };
    let places: FxHashMap<&str, usize> = names.iter().enumerate().map(|(at, &name)| (name, at)).collect();
    for (weight, answer) in answers {
        for (host, score) in answer.unwrap_or_default() {
            if let Some(&at) = places.get(host.as_str()) {
                let scaled =
                    score.saturating_mul(weight).saturating_mul(MAX_NODE_SCORE / MAX_EXTENDER_PRIORITY);
                totals[at] = totals[at].saturating_add(scaled);
            }
        }
    }
}

/// Lets the extenders change a choice of victims. What they return must exist.
pub fn call_extenders(
    extenders: &[Arc<dyn Extender>],
    world: &World,
    (uid, pod): (PodUid, &PodInput),
    mut candidates: Vec<Victims>,
) -> Result<Vec<Victims>, ExtenderError> {
    for extender in extenders {
        if candidates.is_empty() {
            break;
        }
        if !extender.does(Verb::Preempt) || !extender.is_interested(pod) {
            continue;
        }
        let answer = extender.preempt(uid, &candidates).and_then(|answer| {
            existing(extender.as_ref(), world, answer).inspect_err(|error| extender.answer_refused(error))
        });
        let mut answer = match answer {
            Ok(answer) => answer,
            Err(_) if extender.is_ignorable() => continue,
            Err(error) => return Err(error),
        };
        if extender.is_ignorable() {
            answer.retain(|victims| !victims.pods.is_empty());
        } else if let Some(empty) = answer.iter().find(|victims| victims.pods.is_empty()) {
            return Err(ExtenderError::NoVictims { node: empty.node.clone() });
        }
        // An answer has no order; the candidates' own keeps decisions repeatable.
        let place = |victims: &Victims| candidates.iter().position(|known| known.node == victims.node);
        answer.sort_by_cached_key(|victims| (place(victims).unwrap_or(usize::MAX), victims.node.clone()));
        candidates = answer;
    }
    Ok(candidates)
}

fn existing(
    extender: &dyn Extender,
    world: &World,
    answer: Vec<Victims>,
) -> Result<Vec<Victims>, ExtenderError> {
    for victims in &answer {
        let name = world.vocabulary.symbols.get(&victims.node);
        let node =
            name.and_then(|name| world.nodes().find(name)).filter(|&id| world.nodes().row_of(id).is_some());
        let Some(node) = node else {
            let (extender, node) = (extender.name().to_owned(), victims.node.clone());
            return Err(ExtenderError::UnknownVictimNode { extender, node });
        };
        if let Some(pod) = victims.pods.iter().find(|&&pod| !is_on(world, pod, node)) {
            return Err(ExtenderError::UnknownVictim {
                extender: extender.name().to_owned(),
                uid: pod.0.to_string(),
                node: victims.node.clone(),
            });
        }
    }
    Ok(answer)
}

fn is_on(world: &World, pod: PodUid, node: NodeId) -> bool {
    world.pods().find(pod).is_some_and(|pod| world.pods().get(pod).node() == Some(node))
}

/// The extender that binds such pods, first in order.
pub fn extenders_binding<'a>(
    extenders: &'a [Arc<dyn Extender>],
    pod: &'a PodInput,
) -> impl Iterator<Item = &'a Arc<dyn Extender>> {
    extenders.iter().filter(|extender| extender.does(Verb::Bind) && extender.is_interested(pod))
}

fn names_of<'a>(world: &'a World, rows: &[u32]) -> Vec<&'a str> {
    let ids = &world.nodes().columns().id;
    rows.iter().map(|&row| world.node_name(ids[row as usize])).collect()
}
