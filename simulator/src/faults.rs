//! What can go wrong, by name, and how often it did.

use std::fmt;
use std::str::FromStr;

use super::controllers::controller_at;

/// Which faults a scenario may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultProfile {
    /// Nothing goes wrong, and nobody else is there: pods and nodes come and go.
    None,
    /// Calls fail: errors, conflicts, timeouts with and without effect.
    Api,
    /// Watches are late, repeat themselves, break and list again.
    Watch,
    /// Nodes vanish and come back, pods are recreated under their names.
    Nodes,
    /// Schedulers are restarted.
    Restart,
    /// Others write: outside nominations, foreign bindings, a second scheduler.
    Rivals,
    /// All of it.
    Storm,
    /// Nodes leave their zones, or are deleted, while their pods remain; pods keep together or apart. In no
    /// storm: seeds would mean something else.
    Domains,
    /// Nominations are written by several at a time, over calls that fail and watches that break. In no
    /// storm, either.
    Nominations,
    /// Pods of high priority wait for victims that take their time, with `nominatedNodeNameMiss: requeue`. In no
    /// storm, either.
    Victims,
    /// A namespace gets a label and loses it, and affinity terms select namespaces by it. In no storm, either.
    Namespaces,
    /// Controllers run: nodes lose labels, get `NoExecute` taints and bad conditions, while calls fail, watches
    /// break and controllers restart. In no storm, either.
    Controllers,
    /// API calls wait in a queue, one on its way at a time and slow, while nodes leave their zones: what is
    /// to be written is often replaced before it was. In no storm, either.
    Backlog,
    /// Pod groups, in a simulation of their own: members come late and leave, groups are deleted, bindings fail
    /// and the scheduler restarts between two of them.
    Groups,
}

impl FaultProfile {
    /// All profiles.
    pub const ALL: [FaultProfile; 14] = [
        FaultProfile::None,
        FaultProfile::Api,
        FaultProfile::Watch,
        FaultProfile::Nodes,
        FaultProfile::Restart,
        FaultProfile::Rivals,
        FaultProfile::Storm,
        FaultProfile::Domains,
        FaultProfile::Nominations,
        FaultProfile::Victims,
        FaultProfile::Namespaces,
        FaultProfile::Controllers,
        FaultProfile::Backlog,
        FaultProfile::Groups,
    ];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FaultProfile::None => "none",
            FaultProfile::Api => "api",
            FaultProfile::Watch => "watch",
            FaultProfile::Nodes => "nodes",
            FaultProfile::Restart => "restart",
            FaultProfile::Rivals => "rivals",
            FaultProfile::Storm => "storm",
            FaultProfile::Domains => "domains",
            FaultProfile::Nominations => "nominations",
            FaultProfile::Victims => "victims",
            FaultProfile::Namespaces => "namespaces",
            FaultProfile::Controllers => "controllers",
            FaultProfile::Backlog => "backlog",
            FaultProfile::Groups => "groups",
        }
    }

    /// Scenarios of this profile may have the faults of `other`.
    #[must_use]
    pub fn includes(self, other: FaultProfile) -> bool {
        self == other || self == FaultProfile::Storm
    }
}

/// A name that is no profile's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown fault profile `{name}`; known are {}", FaultProfile::ALL.map(FaultProfile::name).join(", "))]
pub struct UnknownProfile {
    name: String,
}

impl FromStr for FaultProfile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<FaultProfile, UnknownProfile> {
        let found = FaultProfile::ALL.into_iter().find(|profile| profile.name() == name);
        found.ok_or_else(|| UnknownProfile { name: name.to_owned() })
    }
}

/// Which calls a fault meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedCallKind {
    /// Bindings.
    Bind,
    /// Status patches.
    Patch,
    /// Deletions.
    Delete,
    /// Writes to volumes, which PreBind makes.
    Volumes,
    /// Writes of objects that are no pods, which controllers make.
    Write,
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFault {
    /// The server has an error: nothing is done, and it may be tried again.
    Error,
    /// The answer does not come, and nothing was done.
    LostRequest,
    /// The answer does not come, but it was done.
    LostAnswer,
    /// Refused as a conflict.
    Conflict,
    /// Everything goes well, but late.
    Slow,
}

/// Which watch of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Pods.
    Pods,
    /// Nodes.
    Nodes,
    /// All other kinds.
    Others,
}

impl Stream {
    /// All of them, in the order of their numbers.
    pub const ALL: [Stream; 3] = [Stream::Pods, Stream::Nodes, Stream::Others];
}

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The next calls of a kind fail.
    Calls {
        /// Which.
        kind: SimulatedCallKind,
        /// How.
        how: CallFault,
        /// How many.
        count: u8,
    },
    /// A watch stands still for a while; all its events are late.
    Stall {
        /// Whose.
        scheduler: u8,
        /// Which.
        stream: Stream,
        /// For how long.
        ms: u32,
    },
    /// The next event of a watch comes twice.
    Duplicate {
        /// Whose.
        scheduler: u8,
        /// Which.
        stream: Stream,
    },
    /// A watch breaks, what was on its way is lost, and the scheduler lists again.
    Disconnect {
        /// Whose.
        scheduler: u8,
        /// Which.
        stream: Stream,
        /// After how long.
        ms: u32,
    },
    /// A scheduler ends at once and another takes its place.
    Restart {
        /// Which.
        scheduler: u8,
    },
}

/// Whose watch or process it is.
struct Whose(u8);

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match controller_at(self.0) {
            Some(at) => write!(f, "controller {at}"),
            None => write!(f, "scheduler {}", self.0),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Calls { kind, how, count } => {
                write!(f, "fault: the next {count} {kind:?} call(s) meet {how:?}")
            }
            Fault::Stall { scheduler, stream, ms } => {
                write!(f, "fault: the {stream:?} watch of {} stands still for {ms}ms", Whose(*scheduler))
            }
            Fault::Duplicate { scheduler, stream } => {
                write!(
                    f,
                    "fault: the next event of the {stream:?} watch of {} comes twice",
                    Whose(*scheduler)
                )
            }
            Fault::Disconnect { scheduler, stream, ms } => {
                write!(
                    f,
                    "fault: the {stream:?} watch of {} breaks and lists again after {ms}ms",
                    Whose(*scheduler)
                )
            }
            Fault::Restart { scheduler } => write!(f, "fault: {} is restarted", Whose(*scheduler)),
        }
    }
}

/// Kinds of faults that are counted.
pub(super) const FAULT_NAMES: [&str; 15] = [
    "call error",
    "request lost",
    "answer lost",
    "conflict",
    "slow call",
    "watch late",
    "event twice",
    "watch broken",
    "restart",
    "node lost",
    "node back",
    "pod recreated",
    "outside nomination",
    "foreign binding",
    "slow termination",
];

/// How often each kind of fault happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts([u64; FAULT_NAMES.len()]);

/// A kind of fault that is counted: its place in the table of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    Error,
    LostRequest,
    LostAnswer,
    Conflict,
    Slow,
    Stall,
    Duplicate,
    Disconnect,
    Restart,
    NodeLost,
    NodeBack,
    PodRecreated,
    OutsideNomination,
    ForeignBinding,
    SlowTermination,
}

impl From<CallFault> for Counted {
    fn from(fault: CallFault) -> Counted {
        match fault {
            CallFault::Error => Counted::Error,
            CallFault::LostRequest => Counted::LostRequest,
            CallFault::LostAnswer => Counted::LostAnswer,
            CallFault::Conflict => Counted::Conflict,
            CallFault::Slow => Counted::Slow,
        }
    }
}

impl FaultCounts {
    pub(super) fn note(&mut self, kind: Counted) {
        self.0[kind as usize] += 1;
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &FaultCounts) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, count)| *sum += count);
    }

    /// Names and counts.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        FAULT_NAMES.iter().copied().zip(self.0)
    }

    /// All together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}
