//! "Did you mean": the known name closest to a mistyped one.

/// The candidate nearest to `name`, if it is near enough to be a slip of the finger.
pub(crate) fn closest(name: &str, candidates: &[&'static str]) -> Option<&'static str> {
    nearest(name, candidates.iter().copied())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Up to `limit` candidates that are near enough, nearest first.
pub(crate) fn closest_of<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
    limit: usize,
) -> Vec<String> {
    let mut found: Vec<(usize, &str)> = nearest(name, candidates).collect();
    found.sort_unstable();
    found.into_iter().take(limit).map(|(_, candidate)| candidate.to_owned()).collect()
}

fn nearest<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> impl Iterator<Item = (usize, &'a str)> {
    let lower = name.to_ascii_lowercase();
    candidates
        .map(move |candidate| (edit_distance(&lower, &candidate.to_ascii_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= slips_allowed(candidate))
}

/// One slip in three letters, at least one.
fn slips_allowed(candidate: &str) -> usize {
    (candidate.len() / 3).max(1)
}

/// Levenshtein distance: insertions, deletions and replacements, one row at a time.
fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, from) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, to) in right.iter().enumerate() {
            let replace = diagonal + usize::from(from != *to);
            diagonal = row[column + 1];
            row[column + 1] = replace.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let known = ["count", "countParam", "nodeTemplatePath"];
        let cases = [
            ("a missing letter", "cont", Some("count")),
            ("another case", "countparam", Some("countParam")),
            ("a swapped word ending", "nodeTemplateFile", Some("nodeTemplatePath")),
            ("something else", "replicas", None),
            ("nothing", "", None),
        ];
        for (name, written, expected) in cases {
            assert_eq!(closest(written, &known), expected, "case: {name}");
        }
    }
}
