//! How names, keys and values are written. What is returned is what the API server says.
//!
//! Upstream: apimachinery pkg/util/validation/validation.go, pkg/api/validate/content/kube.go.

const LABEL_BYTES_MAX: usize = 63;
const SUBDOMAIN_BYTES_MAX: usize = 253;

const DNS_LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and \
     must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const DNS_SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' \
     or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const KEY_NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
     alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
     '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
     used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

fn too_long(bytes_max: usize) -> String {
    format!("must be no more than {bytes_max} bytes")
}

/// Letters at both ends, and `inner` as well between them.
fn is_bounded(text: &str, is_end: fn(u8) -> bool, inner: &[u8]) -> bool {
    let bytes = text.as_bytes();
    let ends = bytes.first().zip(bytes.last());
    ends.is_some_and(|(first, last)| is_end(*first) && is_end(*last))
        && bytes.iter().all(|&byte| is_end(byte) || inner.contains(&byte))
}

fn is_lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

/// `IsDNS1123Label`.
pub(super) fn dns_label_errors(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if LABEL_BYTES_MAX < text.len() {
        errors.push(too_long(LABEL_BYTES_MAX));
    }
    if !is_bounded(text, is_lower, b"-") {
        errors.push(DNS_LABEL.to_owned());
    }
    errors
}

/// `IsDNS1123Subdomain`.
pub(super) fn dns_subdomain_errors(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if SUBDOMAIN_BYTES_MAX < text.len() {
        errors.push(too_long(SUBDOMAIN_BYTES_MAX));
    }
    if !text.split('.').all(|label| is_bounded(label, is_lower, b"-")) {
        errors.push(DNS_SUBDOMAIN.to_owned());
    }
    errors
}

/// `IsLabelKey`, also called a qualified name.
pub(super) fn label_key_errors(key: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let name = match key.split_once('/') {
        None => key,
        Some((_, name)) if name.contains('/') => {
            return vec![format!(
                "a valid label key {KEY_NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
        Some(("", name)) => {
            errors.push("prefix part must be non-empty".to_owned());
            name
        }
        Some((prefix, name)) => {
            errors.extend(dns_subdomain_errors(prefix).into_iter().map(|why| format!("prefix part {why}")));
            name
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if LABEL_BYTES_MAX < name.len() {
        errors.push(format!("name part {}", too_long(LABEL_BYTES_MAX)));
    }
    if !is_bounded(name, is_alphanumeric, b"-_.") {
        errors.push(format!("name part {KEY_NAME}"));
    }
    errors
}

/// `IsLabelValue`.
pub(super) fn label_value_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if LABEL_BYTES_MAX < value.len() {
        errors.push(too_long(LABEL_BYTES_MAX));
    }
    if !value.is_empty() && !is_bounded(value, is_alphanumeric, b"-_.") {
        errors.push(LABEL_VALUE.to_owned());
    }
    errors
}
