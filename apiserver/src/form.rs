//! In which form a client wants its answer: `Accept`.

/// The forms that a client takes, the one it likes best first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accepted(Vec<Form>);

/// A form of objects in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As they are.
    Object,
    /// Rows and columns for a terminal.
    Table,
    /// Their metadata.
    Metadata,
    /// Groups and resources in one document.
    AggregatedDiscovery,
    /// Something else that is JSON, as an older version of one of these.
    OtherJson,
}

impl Accepted {
    /// Reads the header. No header takes anything.
    pub(crate) fn parse(header: &str) -> Self {
        let ranges = header.split(',').map(str::trim).filter(|range| !range.is_empty());
        let forms: Vec<Form> = ranges.filter_map(form_of).collect();
        let is_anything = header.trim().is_empty();
        Self(if is_anything { vec![Form::Object] } else { forms })
    }

    /// Whether the client takes JSON at all.
    pub(crate) fn takes_json(&self) -> bool {
        self.0.iter().any(|form| *form != Form::OtherJson)
    }

    /// The form to answer in; `Object` unless the client likes another one best.
    pub(crate) fn best(&self) -> Form {
        self.0.iter().copied().find(|form| *form != Form::OtherJson).unwrap_or(Form::Object)
    }
}

fn form_of(range: &str) -> Option<Form> {
    let mut parts = range.split(';').map(str::trim);
    let media = parts.next()?.to_ascii_lowercase();
    if !matches!(media.as_str(), "application/json" | "application/*" | "*/*") {
        return None;
    }
    let parameter = |name: &str| {
        let mut parts = range.split(';').skip(1).filter_map(|part| part.trim().split_once('='));
        parts.find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    Some(match (parameter("as"), parameter("v")) {
        (None, _) => Form::Object,
        (Some("Table"), Some("v1")) => Form::Table,
        (Some("PartialObjectMetadata" | "PartialObjectMetadataList"), Some("v1")) => Form::Metadata,
        (Some("APIGroupDiscoveryList"), Some("v2")) => Form::AggregatedDiscovery,
        _ => Form::OtherJson,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_form_is_the_first_that_is_known() {
        let cases = [
            ("", Form::Object),
            ("application/json", Form::Object),
            ("*/*", Form::Object),
            ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Form::Table),
            ("application/json;as=Table;v=v1beta1;g=meta.k8s.io, application/json", Form::Object),
            ("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", Form::Metadata),
            (
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
                Form::AggregatedDiscovery,
            ),
            ("application/vnd.kubernetes.protobuf, application/json", Form::Object),
        ];
        for (header, expected) in cases {
            let accepted = Accepted::parse(header);
            assert_eq!(accepted.best(), expected, "case: {header}");
            assert!(accepted.takes_json(), "case: {header}");
        }
        assert!(!Accepted::parse("application/vnd.kubernetes.protobuf").takes_json());
        assert!(!Accepted::parse("text/html").takes_json());
    }
}
