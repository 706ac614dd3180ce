//! What can be wrong with a config file, and how each thing is said.
//!
//! Every message starts with `file:line:column:`, so that an editor can jump there.

use std::fmt;

use crate::yaml::Location;

/// A config file that upstream would refuse, or that cannot mean what its author wants.
#[derive(Debug, thiserror::Error)]
#[error("{file}:{line}:{column}: {problem}")]
pub struct SchemaError {
    /// The file as it was named when it was loaded.
    pub file: String,
    /// Line of the offending text, from 1.
    pub line: u64,
    /// Column of the offending text, from 1.
    pub column: u64,
    /// What is wrong there.
    pub problem: Box<SchemaProblem>,
}

impl SchemaError {
    pub(crate) fn new(file: &str, at: Location, problem: SchemaProblem) -> Self {
        let problem = Box::new(problem);
        Self { file: file.to_owned(), line: at.line, column: at.column, problem }
    }
}

/// The kinds of [`SchemaError`].
#[derive(Debug, thiserror::Error)]
pub enum SchemaProblem {
    /// The text is not YAML.
    #[error("not valid YAML: {message}")]
    Syntax {
        /// What the YAML parser says.
        message: String,
    },
    /// A field that upstream's struct does not have.
    #[error("unknown field `{field}` in {holder}{}; allowed: {}", DidYouMean(*suggestion), Names(allowed))]
    UnknownField {
        /// The name as written.
        field: String,
        /// What the field was given to, in words.
        holder: String,
        /// The name that was probably meant.
        suggestion: Option<&'static str>,
        /// Every name that may stand here.
        allowed: &'static [&'static str],
    },
    /// The same field twice, in two spellings that upstream reads as one.
    #[error("`{field}` is set twice in {holder}; remove one")]
    RepeatedField {
        /// The name as upstream spells it.
        field: &'static str,
        /// What the field was given to, in words.
        holder: String,
    },
    /// A field that must be there and is not.
    #[error("{holder} has no `{field}`; {help}")]
    MissingField {
        /// The name of the absent field.
        field: &'static str,
        /// What lacks it, in words.
        holder: String,
        /// What to write.
        help: &'static str,
    },
    /// A value of the wrong kind.
    #[error("`{field}` of {holder} is {found}; write {expected}")]
    WrongType {
        /// The field whose value it is.
        field: String,
        /// What the field was given to, in words.
        holder: String,
        /// What was found, in words.
        found: String,
        /// What is expected, in words.
        expected: &'static str,
    },
    /// A value of the right kind that is not allowed.
    #[error("`{field}: {value}` of {holder} is not allowed; {rule}")]
    BadValue {
        /// The field whose value it is.
        field: &'static str,
        /// What the field was given to, in words.
        holder: String,
        /// The value as read.
        value: String,
        /// What would be allowed.
        rule: String,
    },
    /// Two fields that exclude each other.
    #[error("{holder} sets both `{first}` and `{second}`; {help}")]
    Conflict {
        /// What has both, in words.
        holder: String,
        /// One of the two fields.
        first: &'static str,
        /// The other one.
        second: &'static str,
        /// What to do about it.
        help: &'static str,
    },
    /// An opcode that does not exist.
    #[error("unknown opcode `{opcode}`{}; known: {}", DidYouMean(*suggestion), Names(known))]
    UnknownOpcode {
        /// The opcode as written.
        opcode: String,
        /// The opcode that was probably meant.
        suggestion: Option<&'static str>,
        /// Every opcode.
        known: &'static [&'static str],
    },
    /// A controller that cannot be switched on.
    #[error("`controllers` of {holder}: {message}")]
    Controller {
        /// What the field was given to, in words.
        holder: String,
        /// What is wrong, and what would do.
        message: String,
    },
    /// A name that is not unique.
    #[error("{what} `{name}` already exists (line {first_line}); give this one another name")]
    RepeatedName {
        /// What has the name, in words.
        what: &'static str,
        /// The name.
        name: String,
        /// Where the first one is.
        first_line: u64,
    },
    /// Arguments of one plugin in two places.
    #[error("arguments of plugin `{plugin}` are given already (line {first_line}); remove one of the two")]
    RepeatedArgs {
        /// The plugin.
        plugin: String,
        /// Where the first ones are.
        first_line: u64,
    },
    /// A list with nothing in it.
    #[error("{what}; {help}")]
    Empty {
        /// What is empty, in words.
        what: String,
        /// What to write.
        help: &'static str,
    },
    /// A threshold on a metric that the test case does not collect.
    #[error("{holder} puts its threshold on {target}, which is not collected; {help}")]
    MetricNotCollected {
        /// Whose threshold it is, in words.
        holder: String,
        /// The metric, or the metric and the label that does not match.
        target: String,
        /// What would be collected.
        help: String,
    },
}

struct DidYouMean(Option<&'static str>);

impl fmt::Display for DidYouMean {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(formatter, " (did you mean `{name}`?)"),
            None => Ok(()),
        }
    }
}

struct Names<'a>(&'a [&'static str]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.join(", "))
    }
}
