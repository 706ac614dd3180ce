//! Label and field selectors of a URL, as text and as a test of an object.

use schedlab_cluster::ApiError;
use schedlab_cluster::selector::matches;
use schedlab_core::input::{LabelSelectorInput, Labels, RequirementInput};

/// One requirement on a field of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldRequirement {
    /// As in `status.phase`.
    pub(crate) field: String,
    pub(crate) value: String,
    pub(crate) relation: Relation,
}

/// What is required of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Equal,
    Different,
}

/// Which objects a client wants.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Selection {
    /// Only this namespace; all when absent.
    pub(crate) namespace: Option<String>,
    /// Only objects whose labels match; all when absent.
    pub(crate) labels: Option<LabelSelectorInput>,
    /// All must hold.
    pub(crate) fields: Vec<FieldRequirement>,
}

impl Selection {
    /// Whether every object of the resource is wanted.
    pub(crate) fn is_everything(&self) -> bool {
        self.namespace.is_none() && self.labels.is_none() && self.fields.is_empty()
    }

    /// Whether an object with these labels and fields is wanted, its namespace apart.
    pub(crate) fn admits<'a>(&self, labels: &Labels, field: impl Fn(&str) -> Option<&'a str>) -> bool {
        let holds = |wanted: &FieldRequirement| {
            let is_equal = field(&wanted.field).unwrap_or_default() == wanted.value;
            is_equal == (wanted.relation == Relation::Equal)
        };
        self.fields.iter().all(holds) && self.labels.as_ref().is_none_or(|wanted| matches(wanted, labels))
    }
}

/// Reads a field selector: `a=b,c!=d`.
///
/// Upstream: apimachinery pkg/fields `ParseSelector`.
pub(crate) fn parse_fields(text: &str) -> Result<Vec<FieldRequirement>, ApiError> {
    let refused =
        |term: &str| ApiError::bad_request(format!("invalid selector: '{text}'; can't understand '{term}'"));
    let terms = split_escaped(text).into_iter().filter(|term| !term.is_empty());
    let read = |term: String| {
        let at = term.find('=').ok_or_else(|| refused(&term))?;
        let (left, right) = (&term[..at], &term[at + 1..]);
        let (field, relation) = match left.strip_suffix('!') {
            Some(field) => (field, Relation::Different),
            None => (left, Relation::Equal),
        };
        let value = right.strip_prefix('=').unwrap_or(right);
        let value = unescape(value).ok_or_else(|| refused(&term))?;
        Ok(FieldRequirement { field: field.to_owned(), value, relation })
    };
    terms.map(read).collect()
}

/// At commas that no backslash precedes.
fn split_escaped(text: &str) -> Vec<String> {
    let mut terms = vec![String::new()];
    let mut is_escaped = false;
    for letter in text.chars() {
        if letter == ',' && !is_escaped {
            terms.push(String::new());
        } else {
            terms.last_mut().expect("there is always a term").push(letter);
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    terms
}

fn unescape(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        plain.push(match letter {
            '\\' => letters.next().filter(|next| matches!(next, '\\' | ',' | '='))?,
            letter => letter,
        });
    }
    Some(plain)
}

/// Reads a label selector: `a=b,c in (d,e),!f`.
///
/// Upstream: apimachinery pkg/labels `Parse`.
pub(crate) fn parse_labels(text: &str) -> Result<LabelSelectorInput, ApiError> {
    let mut parser = LabelParser { rest: text, whole: text };
    let mut selector = LabelSelectorInput::default();
    parser.skip_space();
    while !parser.rest.is_empty() {
        selector.match_expressions.push(parser.requirement()?);
        parser.skip_space();
        if !parser.rest.is_empty() {
            parser.expect(",")?;
            parser.skip_space();
            if parser.rest.is_empty() {
                return Err(parser.refused("found '', expected: identifier after ','"));
            }
        }
    }
    Ok(selector)
}

struct LabelParser<'a> {
    rest: &'a str,
    whole: &'a str,
}

impl<'a> LabelParser<'a> {
    fn refused(&self, why: &str) -> ApiError {
        ApiError::bad_request(format!("unable to parse label selector {:?}: {why}", self.whole))
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn takes(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<(), ApiError> {
        if self.takes(token) {
            return Ok(());
        }
        Err(self.refused(&format!("found '{}', expected: '{token}'", self.rest)))
    }

    fn word(&mut self) -> &'a str {
        self.skip_space();
        let is_end = |letter: char| letter.is_whitespace() || "=!,()<>".contains(letter);
        let end = self.rest.find(is_end).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn requirement(&mut self) -> Result<RequirementInput, ApiError> {
        let is_absent = self.takes("!");
        let key = self.word().to_owned();
        if key.is_empty() {
            return Err(self.refused(&format!("found '{}', expected: identifier", self.rest)));
        }
        let requirement = |operator: &str, values: Vec<String>| {
            Ok(RequirementInput { key: key.clone(), operator: operator.to_owned(), values })
        };
        self.skip_space();
        if is_absent {
            return requirement("DoesNotExist", Vec::new());
        }
        if self.rest.is_empty() || self.rest.starts_with(',') {
            return requirement("Exists", Vec::new());
        }
        if self.takes("!=") {
            return requirement("NotIn", vec![self.word().to_owned()]);
        }
        if self.takes("==") || self.takes("=") {
            return requirement("In", vec![self.word().to_owned()]);
        }
        match self.word() {
            "in" => requirement("In", self.values()?),
            "notin" => requirement("NotIn", self.values()?),
            other => Err(self.refused(&format!(
                "found '{other}{}', expected: in, notin, =, ==, != or the end",
                self.rest
            ))),
        }
    }

    fn values(&mut self) -> Result<Vec<String>, ApiError> {
        self.skip_space();
        self.expect("(")?;
        let mut values = Vec::new();
        loop {
            values.push(self.word().to_owned());
            self.skip_space();
            if self.takes(")") {
                return Ok(values);
            }
            self.expect(",")?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects(selector: &str, labels: &[(&str, &str)]) -> bool {
        let labels: Labels = labels.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        matches(&parse_labels(selector).unwrap(), &labels)
    }

    #[test]
    fn label_selectors_are_read_as_upstream() {
        let labels = [("app", "web"), ("tier", "front")];
        let cases = [
            ("", true),
            ("app=web", true),
            ("app==web", true),
            ("app = web , tier = front", true),
            ("app!=web", false),
            ("zone!=a", true),
            ("app in (web, db)", true),
            ("app notin (db,web)", false),
            ("app in (db),tier", false),
            ("tier", true),
            ("!tier", false),
            ("!zone,app", true),
            ("app=", false),
        ];
        for (selector, expected) in cases {
            assert_eq!(selects(selector, &labels), expected, "case: {selector:?}");
        }
        for broken in ["=a", "a in b", "a in (b", "a b", ",", "a,", "a(b)"] {
            assert!(parse_labels(broken).is_err(), "case: {broken}");
        }
    }

    #[test]
    fn field_selectors_compare_fields() {
        let selection =
            |text: &str| Selection { fields: parse_fields(text).unwrap(), ..Selection::default() };
        let field = |name: &str| match name {
            "status.phase" => Some("Pending"),
            "metadata.name" => Some("a,b"),
            _ => None,
        };
        let cases = [
            ("status.phase!=Succeeded,status.phase!=Failed", true),
            ("status.phase=Pending", true),
            ("status.phase==Running", false),
            ("spec.nodeName=", true),
            ("spec.nodeName!=", false),
            ("metadata.name=a\\,b", true),
        ];
        for (text, expected) in cases {
            assert_eq!(selection(text).admits(&Labels::new(), field), expected, "case: {text}");
        }
        assert!(parse_fields("status.phase").is_err());
    }
}
