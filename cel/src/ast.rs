//! An expression, with its macros expanded to what they mean.

use crate::value::Value;

/// An expression.
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Literal(Value),
    /// A variable.
    Ident(String),
    /// `operand.field`, `operand.?field`.
    Select {
        operand: Box<Expr>,
        field: String,
        is_optional: bool,
    },
    /// `has(operand.field)`.
    Has {
        operand: Box<Expr>,
        field: String,
    },
    /// `operand[index]`, `operand[?index]`.
    Index {
        operand: Box<Expr>,
        index: Box<Expr>,
        is_optional: bool,
    },
    /// A function of arguments; of a member function the first is the target.
    Call {
        function: String,
        args: Vec<Expr>,
        is_member: bool,
    },
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Conditional(Box<[Expr; 3]>),
    /// Elements, each with `?` or without.
    List(Vec<(Expr, bool)>),
    /// Entries, each with `?` or without.
    Map(Vec<(Expr, Expr, bool)>),
    /// `range.all(variable, body)` and its kin.
    Comprehension(Box<Comprehension>),
    /// `cel.bind(variable, value, body)`.
    Bind {
        variable: String,
        value: Box<Expr>,
        body: Box<Expr>,
    },
    /// `operand.optMap(variable, body)`; flat if the body is an optional itself.
    OptMap {
        operand: Box<Expr>,
        variable: String,
        body: Box<Expr>,
        is_flat: bool,
    },
}

/// What is done with the elements of a list or the keys of a map.
#[derive(Clone, Debug)]
pub(crate) struct Comprehension {
    pub(crate) kind: ComprehensionKind,
    pub(crate) range: Expr,
    pub(crate) variable: String,
    /// What is asked of each; of `map` with three arguments, which are taken.
    pub(crate) predicate: Option<Expr>,
    /// What each becomes.
    pub(crate) transform: Option<Expr>,
}

/// The macros over lists and maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComprehensionKind {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
}
