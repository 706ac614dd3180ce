//! Semantic versions.
//!
//! Upstream: blang/semver `Parse`, `Compare`; apiserver/pkg/cel/library/semverlib.go `normalizeAndParse`.

use std::cmp::Ordering;

/// A semantic version; what is behind a `+` does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Semver {
    pub(crate) parts: [u64; 3],
    prerelease: Vec<Identifier>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    /// Numbers come before words.
    Number(u64),
    Word(String),
}

fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let has_zero_before = text.len() > 1 && text.starts_with('0');
    (is_number && !has_zero_before).then(|| text.parse().ok()).flatten()
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

impl Semver {
    /// Reads a version of three numbers.
    pub(crate) fn parse(text: &str) -> Option<Semver> {
        let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
        if build.is_some_and(|build| !build.split('.').all(is_word)) {
            return None;
        }
        let (numbers, prerelease) = text.split_once('-').map_or((text, None), |(text, it)| (text, Some(it)));
        let parts: Vec<u64> = numbers.split('.').map(number).collect::<Option<_>>()?;
        let identifier = |text: &str| {
            if text.bytes().all(|byte| byte.is_ascii_digit()) {
                return number(text).map(Identifier::Number);
            }
            is_word(text).then(|| Identifier::Word(text.to_owned()))
        };
        let prerelease = prerelease.map_or(Some(Vec::new()), |it| it.split('.').map(identifier).collect())?;
        Some(Semver { parts: parts.try_into().ok()?, prerelease })
    }

    /// Reads a version with a `v` before it, of one or two numbers, or with zeros before them.
    pub(crate) fn parse_tolerantly(text: &str) -> Option<Semver> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let end = text.find(['-', '+']).unwrap_or(text.len());
        let (numbers, rest) = text.split_at(end);
        let mut parts: Vec<&str> = numbers.split('.').collect();
        if parts.len() > 3 {
            return None;
        }
        for part in &mut parts {
            let stripped = part.trim_start_matches('0');
            *part = if stripped.is_empty() && !part.is_empty() { "0" } else { stripped };
        }
        parts.resize(3, "0");
        Semver::parse(&format!("{}{rest}", parts.join(".")))
    }
}

impl PartialOrd for Semver {
    fn partial_cmp(&self, other: &Semver) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Semver {
    fn cmp(&self, other: &Semver) -> Ordering {
        self.parts.cmp(&other.parts).then_with(|| {
            match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
                // A version comes after what was released before it.
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                _ => self.prerelease.cmp(&other.prerelease),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_semver_orders_them() {
        let ascending = [
            "0.9.9",
            "1.0.0-1",
            "1.0.0-2",
            "1.0.0-11",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-beta",
            "1.0.0",
            "1.0.1",
            "1.1.0",
            "2.0.0",
        ];
        for pair in ascending.windows(2) {
            assert!(Semver::parse(pair[0]).unwrap() < Semver::parse(pair[1]).unwrap(), "{pair:?}");
        }
        assert_eq!(Semver::parse("1.0.0+a"), Semver::parse("1.0.0+b"), "the build does not count");
    }

    #[test]
    fn what_is_no_version_is_refused_unless_it_is_normalised() {
        for bad in ["", "1", "1.2", "v1.2.3", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "a.b.c", "1.2.3.4"] {
            assert_eq!(Semver::parse(bad), None, "{bad}");
        }
        let tolerant = [("v1", "1.0.0"), ("1.2", "1.2.0"), ("v01.02.03-a", "1.2.3-a"), ("0", "0.0.0")];
        for (text, expected) in tolerant {
            assert_eq!(Semver::parse_tolerantly(text), Semver::parse(expected), "{text}");
        }
        assert_eq!(Semver::parse_tolerantly("1.2.3.4"), None);
    }
}
