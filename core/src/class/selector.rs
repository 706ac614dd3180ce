//! Node selectors compiled to programs over interned labels.
//!
//! Upstream: component-helpers/scheduling/corev1/nodeaffinity. A term that does not parse
//! (an impossible operator, a bad key, `Gt` without one integer) never matches; an empty term
//! matches nothing; terms are ORed, requirements ANDed.

use crate::ids::{LabelSetId, Symbol};
use crate::input::{Labels, NodeSelectorTermInput, RequirementInput};
use crate::interner::{EMPTY, Vocabulary};
use crate::resources::{is_name_part, is_qualified_name};

/// What a requirement asks of one label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Test {
    In(Box<[Symbol]>),
    NotIn(Box<[Symbol]>),
    Exists,
    DoesNotExist,
    GreaterThan(i64),
    LessThan(i64),
}

/// A compiled requirement on a label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    key: Symbol,
    test: Test,
}

impl Requirement {
    /// Compiles a requirement; `None` when upstream's parser would refuse it.
    /// Upstream: apimachinery/pkg/labels `NewRequirement`.
    pub fn compile(input: &RequirementInput, vocabulary: &mut Vocabulary) -> Option<Requirement> {
        if !is_qualified_name(&input.key) || !input.values.iter().all(|value| is_label_value(value)) {
            return None;
        }
        let one_integer = || match input.values.as_slice() {
            [only] => parse_go_int(only),
            _ => None,
        };
        let mut symbols = || -> Box<[Symbol]> {
            input.values.iter().map(|value| vocabulary.symbols.intern(value)).collect()
        };
        let test = match input.operator.as_str() {
            "In" if !input.values.is_empty() => Test::In(symbols()),
            "NotIn" if !input.values.is_empty() => Test::NotIn(symbols()),
            "Exists" if input.values.is_empty() => Test::Exists,
            "DoesNotExist" if input.values.is_empty() => Test::DoesNotExist,
            "Gt" => Test::GreaterThan(one_integer()?),
            "Lt" => Test::LessThan(one_integer()?),
            _ => return None,
        };
        Some(Requirement { key: vocabulary.symbols.intern(&input.key), test })
    }

    /// Whether a label set meets the requirement.
    #[must_use]
    pub fn matches(&self, labels: LabelSetId, vocabulary: &Vocabulary) -> bool {
        let value = vocabulary.label(labels, self.key);
        let integer = |symbol| parse_go_int(vocabulary.symbols.text(symbol));
        match &self.test {
            Test::In(values) => value.is_some_and(|value| values.contains(&value)),
            Test::NotIn(values) => value.is_none_or(|value| !values.contains(&value)),
            Test::Exists => value.is_some(),
            Test::DoesNotExist => value.is_none(),
            Test::GreaterThan(bound) => value.and_then(integer).is_some_and(|value| value > *bound),
            Test::LessThan(bound) => value.and_then(integer).is_some_and(|value| value < *bound),
        }
    }
}

/// Go's `strconv.ParseInt(text, 10, 64)`: an optional sign and digits.
fn parse_go_int(text: &str) -> Option<i64> {
    text.parse().ok()
}

fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name_part(text)
}

/// A requirement on a node field. Only `metadata.name` exists; any other field reads as empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct FieldTest {
    field: Field,
    value: Symbol,
    expectation: Expectation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Field {
    Name,
    Absent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Expectation {
    Equal,
    Different,
}

impl FieldTest {
    fn compile(input: &RequirementInput, vocabulary: &mut Vocabulary) -> Option<FieldTest> {
        let [value] = input.values.as_slice() else { return None };
        let expectation = match input.operator.as_str() {
            "In" => Expectation::Equal,
            "NotIn" => Expectation::Different,
            _ => return None,
        };
        let field = if input.key == "metadata.name" { Field::Name } else { Field::Absent };
        Some(FieldTest { field, value: vocabulary.symbols.intern(value), expectation })
    }

    fn matches(&self, node_name: Symbol) -> bool {
        let actual = match self.field {
            Field::Name => node_name,
            Field::Absent => EMPTY,
        };
        (actual == self.value) == (self.expectation == Expectation::Equal)
    }
}

/// One compiled term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    labels: Box<[Requirement]>,
    fields: Box<[FieldTest]>,
}

impl Term {
    /// Compiles a term; `None` for an empty one and for one that does not parse: neither ever
    /// matches.
    pub fn compile(input: &NodeSelectorTermInput, vocabulary: &mut Vocabulary) -> Option<Term> {
        if input.match_expressions.is_empty() && input.match_fields.is_empty() {
            return None;
        }
        let labels = input
            .match_expressions
            .iter()
            .map(|requirement| Requirement::compile(requirement, vocabulary))
            .collect::<Option<_>>()?;
        let fields = input
            .match_fields
            .iter()
            .map(|requirement| FieldTest::compile(requirement, vocabulary))
            .collect::<Option<_>>()?;
        Some(Term { labels, fields })
    }

    /// Whether a node with this name and these labels matches. Without a name fields do not count.
    /// Upstream: nodeaffinity.go `extractNodeFields`.
    #[must_use]
    pub fn matches(&self, name: Symbol, labels: LabelSetId, vocabulary: &Vocabulary) -> bool {
        self.labels.iter().all(|requirement| requirement.matches(labels, vocabulary))
            && (name == EMPTY || self.fields.iter().all(|test| test.matches(name)))
    }

    /// The term reads the node's name, not only its labels.
    #[must_use]
    pub fn reads_name(&self) -> bool {
        !self.fields.is_empty()
    }
}

/// ORed terms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeSelector {
    terms: Box<[Term]>,
}

impl NodeSelector {
    /// Compiles the terms that can match at all.
    pub fn compile(terms: &[NodeSelectorTermInput], vocabulary: &mut Vocabulary) -> NodeSelector {
        NodeSelector { terms: terms.iter().filter_map(|term| Term::compile(term, vocabulary)).collect() }
    }

    /// Whether any term matches.
    #[must_use]
    pub fn matches(&self, name: Symbol, labels: LabelSetId, vocabulary: &Vocabulary) -> bool {
        self.terms.iter().any(|term| term.matches(name, labels, vocabulary))
    }

    /// Whether any term reads the node's name.
    #[must_use]
    pub fn reads_name(&self) -> bool {
        self.terms.iter().any(Term::reads_name)
    }

    /// A label key and the values of which a matching node must have one, if there is such a key.
    /// Lets a long list of selectors be searched by a node's labels.
    #[must_use]
    pub fn anchor(&self) -> Option<(Symbol, &[Symbol])> {
        let [term] = &*self.terms else { return None };
        term.labels.iter().find_map(|requirement| match &requirement.test {
            Test::In(values) => Some((requirement.key, &**values)),
            _ => None,
        })
    }
}

/// `spec.nodeSelector` and the required node affinity of a pod: all must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RequiredNodeAffinity {
    labels: Box<[(Symbol, Symbol)]>,
    selector: Option<NodeSelector>,
    /// What must also hold while the pod runs (KEP-2358).
    during_execution: Option<NodeSelector>,
}

impl RequiredNodeAffinity {
    /// Compiles both parts. Unlike terms, `nodeSelector` entries are not validated upstream.
    pub fn compile(
        node_selector: Option<&Labels>,
        required: Option<&[NodeSelectorTermInput]>,
        vocabulary: &mut Vocabulary,
    ) -> RequiredNodeAffinity {
        RequiredNodeAffinity {
            labels: node_selector
                .into_iter()
                .flatten()
                .map(|(key, value)| (vocabulary.symbols.intern(key), vocabulary.symbols.intern(value)))
                .collect(),
            selector: required.map(|terms| NodeSelector::compile(terms, vocabulary)),
            during_execution: None,
        }
    }

    /// The same, with terms that must hold at scheduling and while the pod runs.
    #[must_use]
    pub fn during_execution(
        mut self,
        terms: Option<&[NodeSelectorTermInput]>,
        vocabulary: &mut Vocabulary,
    ) -> RequiredNodeAffinity {
        self.during_execution = terms.map(|terms| NodeSelector::compile(terms, vocabulary));
        self
    }

    /// Whether a node matches.
    #[must_use]
    pub fn matches(&self, name: Symbol, labels: LabelSetId, vocabulary: &Vocabulary) -> bool {
        self.labels.iter().all(|&(key, value)| vocabulary.label(labels, key) == Some(value))
            && self.selectors().all(|selector| selector.matches(name, labels, vocabulary))
    }

    /// The verdict reads the node's name, not only its labels.
    #[must_use]
    pub fn reads_name(&self) -> bool {
        self.selectors().any(NodeSelector::reads_name)
    }

    fn selectors(&self) -> impl Iterator<Item = &NodeSelector> {
        self.selector.iter().chain(&self.during_execution)
    }
}

/// Weighted terms whose weights add up where they match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PreferredTerms {
    terms: Box<[(i64, Term)]>,
}

impl PreferredTerms {
    /// Compiles weighted terms. Terms of weight 0 and empty terms are dropped; upstream reports an
    /// error for one that does not parse and the pod is not scored, which validation makes
    /// impossible, so such a term is dropped as well.
    pub fn compile(terms: &[(i32, NodeSelectorTermInput)], vocabulary: &mut Vocabulary) -> PreferredTerms {
        PreferredTerms {
            terms: terms
                .iter()
                .filter(|(weight, _)| *weight != 0)
                .filter_map(|(weight, term)| Some((i64::from(*weight), Term::compile(term, vocabulary)?)))
                .collect(),
        }
    }

    /// The sum of the weights of the terms that match.
    #[must_use]
    pub fn score(&self, name: Symbol, labels: LabelSetId, vocabulary: &Vocabulary) -> i64 {
        self.terms
            .iter()
            .filter(|(_, term)| term.matches(name, labels, vocabulary))
            .map(|(weight, _)| weight)
            .sum()
    }

    /// No term is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

/// The node names that required affinity narrows the search to.
/// Upstream: nodeaffinity/node_affinity.go `PreFilter`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NameSubset {
    /// Some term does not name nodes: all nodes are eligible.
    All,
    /// Only these.
    Names(Box<[Symbol]>),
    /// Every term contradicts itself.
    Conflict,
}

impl NameSubset {
    /// Collects the names from `metadata.name In (..)` requirements.
    pub fn compile(terms: &[NodeSelectorTermInput], vocabulary: &mut Vocabulary) -> NameSubset {
        let mut union: Vec<&str> = Vec::new();
        for term in terms {
            let mut named = term
                .match_fields
                .iter()
                .filter(|requirement| requirement.key == "metadata.name" && requirement.operator == "In");
            let Some(first) = named.next() else { return NameSubset::All };
            let mut names: Vec<&str> = first.values.iter().map(String::as_str).collect();
            for requirement in named {
                names.retain(|name| requirement.values.iter().any(|value| value == name));
            }
            union.extend(names);
        }
        if terms.is_empty() {
            return NameSubset::All;
        }
        union.sort_unstable();
        union.dedup();
        if union.is_empty() {
            return NameSubset::Conflict;
        }
        NameSubset::Names(union.into_iter().map(|name| vocabulary.symbols.intern(name)).collect())
    }
}
