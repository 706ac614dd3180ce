//! Folded stacks, `outer;inner 12`, and the difference of two of them.

use std::collections::BTreeMap;

/// Samples by stack, outermost function first.
pub type Stacks = BTreeMap<Vec<String>, u64>;

/// A line that is no folded stack.
#[derive(Debug, thiserror::Error)]
#[error("line {line} is no folded stack (functions between semicolons, a blank, a count): {text:?}")]
pub struct FoldedError {
    line: usize,
    text: String,
}

/// How the self time of a function changed, as shares of all samples.
#[derive(Clone, Debug, PartialEq)]
pub struct SelfChange {
    /// The function.
    pub function: String,
    /// Its share before, 0 to 1.
    pub before: f64,
    /// Its share after.
    pub after: f64,
}

/// One line a stack.
#[must_use]
pub fn lines(stacks: &Stacks) -> Vec<String> {
    stacks.iter().map(|(stack, count)| format!("{} {count}", joined(stack))).collect()
}

fn joined(stack: &[String]) -> String {
    stack.join(";").replace('\n', " ")
}

/// Reads lines; empty ones are passed over.
pub fn parse(text: &str) -> Result<Stacks, FoldedError> {
    let mut stacks = Stacks::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = || FoldedError { line: at + 1, text: line.chars().take(80).collect() };
        let (stack, count) = line.rsplit_once(' ').ok_or_else(wrong)?;
        let count: u64 = count.parse().map_err(|_| wrong())?;
        *stacks.entry(stack.split(';').map(str::to_owned).collect()).or_default() += count;
    }
    Ok(stacks)
}

/// Lines with two counts, as difference flamegraphs are drawn from. The first is scaled to as many
/// samples as the second has, so that a longer run is not taken for a dearer one.
#[must_use]
pub fn difference_lines(before: &Stacks, after: &Stacks) -> Vec<String> {
    let scale = total(after) / total(before).max(1.0);
    let mut both: BTreeMap<&Vec<String>, (u64, u64)> = BTreeMap::new();
    for (stack, count) in before {
        both.entry(stack).or_default().0 = (*count as f64 * scale).round() as u64;
    }
    for (stack, count) in after {
        both.entry(stack).or_default().1 = *count;
    }
    both.into_iter().map(|(stack, (old, new))| format!("{} {old} {new}", joined(stack))).collect()
}

/// Functions by how much their share of self time changed, the largest change first.
#[must_use]
pub fn self_changes(before: &Stacks, after: &Stacks) -> Vec<SelfChange> {
    let mut changes: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (stacks, is_after) in [(before, false), (after, true)] {
        let all = total(stacks).max(1.0);
        for (stack, count) in stacks {
            let Some(function) = stack.last() else { continue };
            let (old, new) = changes.entry(function).or_default();
            *(if is_after { new } else { old }) += *count as f64 / all;
        }
    }
    let mut changes: Vec<SelfChange> = changes
        .into_iter()
        .map(|(function, (before, after))| SelfChange { function: function.to_owned(), before, after })
        .collect();
    let size = |change: &SelfChange| (change.after - change.before).abs();
    changes.sort_by(|one, other| size(other).total_cmp(&size(one)));
    changes
}

fn total(stacks: &Stacks) -> f64 {
    stacks.values().sum::<u64>() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks(text: &str) -> Stacks {
        parse(text).unwrap()
    }

    #[test]
    fn folded_stacks_round_trip() {
        let text = "main;filter 3\nmain;score; 4\nmain 5";
        let all = stacks(text);
        assert_eq!(parse(&lines(&all).join("\n")).unwrap(), all);
        assert_eq!(all[&vec!["main".to_owned(), "filter".to_owned()]], 3);
    }

    #[test]
    fn malformed_line_is_named() {
        let refused = |text| parse(text).unwrap_err().to_string();
        assert!(refused("a;b 1\n\nnonsense").contains("line 3"), "{}", refused("a;b 1\n\nnonsense"));
        assert!(refused("a;b x").contains("\"a;b x\""));
    }

    #[test]
    fn a_longer_run_of_the_same_code_shows_no_change() {
        let (short, long) = (stacks("m;a 10\nm;b 30"), stacks("m;a 100\nm;b 300"));
        assert_eq!(difference_lines(&short, &long), ["m;a 100 100", "m;b 300 300"]);
        assert!(self_changes(&short, &long).iter().all(|change| change.before == change.after));
    }

    #[test]
    fn the_function_that_changed_most_comes_first() {
        let changes = self_changes(&stacks("m;a 50\nm;b 49\nm;c 1"), &stacks("m;a 80\nm;b 20"));
        assert_eq!(changes[0].function, "a");
        assert!((changes[0].after - changes[0].before - 0.3).abs() < 1e-9);
        assert_eq!(changes[2].function, "c");
        assert_eq!(changes[2].after, 0.0);
    }
}
