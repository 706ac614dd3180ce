//! Verdicts and their reasons. A pod that does not fit is an answer, not an error; the text of a
//! reason is built only when somebody reads it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::interner::Vocabulary;
use crate::resources::ResourceKind;

/// What a plugin says of a pod on a node.
/// Upstream: kube-scheduler/framework/interface.go `Code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// It fits.
    Success,
    /// It does not fit; evicting pods might help.
    Unschedulable,
    /// It does not fit; evicting pods would not help.
    UnschedulableAndUnresolvable,
    /// There is no answer, and the cycle ends.
    Error,
}

impl Code {
    /// Upstream's name of the code.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Code::Success => "Success",
            Code::Unschedulable => "Unschedulable",
            Code::UnschedulableAndUnresolvable => "UnschedulableAndUnresolvable",
            Code::Error => "Error",
        }
    }

    /// The node is out.
    #[must_use]
    pub fn is_rejection(self) -> bool {
        self != Code::Success
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a node was rejected.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A fixed text.
    Text(&'static str),
    /// `Insufficient <resource>`.
    Insufficient(ResourceKind),
    /// A text made for the occasion.
    Owned(Arc<str>),
}

impl Reason {
    /// The text that upstream shows.
    #[must_use]
    pub fn text<'a>(&'a self, vocabulary: &'a Vocabulary) -> Cow<'a, str> {
        match self {
            Reason::Text(text) => Cow::Borrowed(text),
            Reason::Owned(text) => Cow::Borrowed(text),
            Reason::Insufficient(ResourceKind::Cpu) => Cow::Borrowed("Insufficient cpu"),
            Reason::Insufficient(ResourceKind::Memory) => Cow::Borrowed("Insufficient memory"),
            Reason::Insufficient(ResourceKind::EphemeralStorage) => {
                Cow::Borrowed("Insufficient ephemeral-storage")
            }
            Reason::Insufficient(ResourceKind::Scalar(id)) => {
                Cow::Owned(format!("Insufficient {}", vocabulary.scalar_name(*id)))
            }
        }
    }
}
