//! Which texts are label keys, label values and resource names of which kind.

/// Whether the API accepts this as a label key: `name` or `dns.prefix/name`.
///
/// Upstream: apimachinery/pkg/util/validation `IsQualifiedName`.
#[must_use]
pub fn is_qualified_name(text: &str) -> bool {
    let parts: Vec<&str> = text.split('/').collect();
    match parts[..] {
        [name] => is_name(name),
        [prefix, name] => is_dns_subdomain(prefix) && is_name(name),
        _ => false,
    }
}

/// Whether the API accepts this as a label value.
///
/// Upstream: apimachinery/pkg/util/validation `IsValidLabelValue`.
#[must_use]
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name(text)
}

/// Whether nodes and pods keep this resource in the map of scalar resources.
///
/// Upstream: pkg/scheduler/util/utils.go `IsScalarResourceName`.
#[must_use]
pub fn is_scalar_resource(name: &str) -> bool {
    is_extended_resource(name)
        || name.starts_with("hugepages-")
        || name.contains("kubernetes.io/")
        || name.starts_with("attachable-volumes-")
}

/// Whether this is a resource that a vendor defined.
///
/// Upstream: pkg/apis/core/v1/helper/helpers.go `IsExtendedResourceName`.
#[must_use]
pub fn is_extended_resource(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    !is_native && !name.starts_with("requests.") && is_qualified_name(&format!("requests.{name}"))
}

/// 1 to 63 of letters, digits, `-`, `_`, `.`, with a letter or digit at both ends.
fn is_name(text: &str) -> bool {
    let is_end = |c: char| c.is_ascii_alphanumeric();
    (1..=63).contains(&text.len())
        && text.starts_with(is_end)
        && text.ends_with(is_end)
        && text.chars().all(|c| is_end(c) || "-_.".contains(c))
}

/// At most 253 of lower-case labels between points.
fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_dns_label)
}

/// Lower-case letters, digits and `-`, with no `-` at the ends. No limit on the length: within a
/// subdomain upstream checks only the whole.
fn is_dns_label(text: &str) -> bool {
    let is_end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(is_end) && text.ends_with(is_end) && text.chars().all(|c| is_end(c) || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualified_name_cases() {
        let long = "n".repeat(63);
        let long_prefix = format!("{}/n", "p".repeat(253));
        for good in ["a", "A.b-c_9", "example.com/Gpu", "9", "a-b.c/d", &long, &long_prefix] {
            assert!(is_qualified_name(good), "{good}");
        }
        let too_long = "n".repeat(64);
        let too_long_prefix = format!("{}/n", "p".repeat(254));
        for bad in [
            "",
            "-a",
            "a-",
            "a b",
            "/a",
            "a/",
            "a/b/c",
            "Example.com/a",
            "a..b/c",
            "a_b/c",
            "ä",
            "{foo}",
            &too_long,
            &too_long_prefix,
        ] {
            assert!(!is_qualified_name(bad), "{bad}");
        }
    }

    #[test]
    fn label_value_cases() {
        for good in ["", "a", "5", "0005", "a.b_c-d"] {
            assert!(is_label_value(good), "{good}");
        }
        for bad in ["-5", "+5", "a/b", "a b", ".", &"v".repeat(64)] {
            assert!(!is_label_value(bad), "{bad}");
        }
    }

    #[test]
    fn resource_kind_cases() {
        struct Case {
            name: &'static str,
            is_scalar: bool,
            is_extended: bool,
        }
        #[rustfmt::skip]
        let cases = [
            Case { name: "cpu", is_scalar: false, is_extended: false },
            Case { name: "storage", is_scalar: false, is_extended: false },
            Case { name: "example.com/gpu", is_scalar: true, is_extended: true },
            Case { name: "requests.example.com/gpu", is_scalar: false, is_extended: false },
            Case { name: "example.com/not ok", is_scalar: false, is_extended: false },
            Case { name: "kubernetes.io/thing", is_scalar: true, is_extended: false },
            Case { name: "sub.kubernetes.io/thing", is_scalar: true, is_extended: false },
            Case { name: "hugepages-2Mi", is_scalar: true, is_extended: false },
            Case { name: "attachable-volumes-csi", is_scalar: true, is_extended: false },
        ];
        for case in &cases {
            assert_eq!(is_scalar_resource(case.name), case.is_scalar, "{}", case.name);
            assert_eq!(is_extended_resource(case.name), case.is_extended, "{}", case.name);
        }
    }
}
