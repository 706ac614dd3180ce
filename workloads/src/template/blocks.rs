//! Whether every `{{if}}` has its `{{end}}`.
//!
//! The `gotmpl` parser takes an unclosed block as closed at the end of the file, and drops all
//! text behind a stray `{{end}}`. Go refuses both, and so do we.

/// A mistake at a line of the template.
#[derive(Debug)]
pub(super) struct Stray {
    pub(super) line: usize,
    pub(super) message: String,
}

/// Refuses a block without its end, and an end or else without its block.
pub(super) fn check(text: &str) -> Result<(), Stray> {
    let mut open: Vec<(usize, &str)> = Vec::new();
    for (line, keyword) in keywords(text) {
        match keyword {
            "if" | "range" | "with" | "define" | "block" => open.push((line, keyword)),
            "end" if open.pop().is_none() => return Err(stray(line, keyword)),
            "else" if open.is_empty() => return Err(stray(line, keyword)),
            _ => {}
        }
    }
    match open.pop() {
        Some((line, keyword)) => {
            Err(Stray { line, message: format!("`{{{{{keyword}}}}}` has no `{{{{end}}}}`") })
        }
        None => Ok(()),
    }
}

fn stray(line: usize, keyword: &str) -> Stray {
    Stray { line, message: format!("`{{{{{keyword}}}}}` belongs to no block") }
}

/// The first word of every action, with its line.
fn keywords(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find("{{").map(|offset| at + offset) {
        let inside = start + 2;
        let end = action_end(text, inside);
        let action = text[inside..end].trim_start_matches("- ").trim_start();
        let word = action.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        found.push((text[..start].matches('\n').count() + 1, word));
        at = end;
    }
    found
}

/// Where an action ends: at the first `}}` that is not inside quotes or a comment.
fn action_end(text: &str, inside: usize) -> usize {
    let action = &text[inside..];
    if action.trim_start_matches("- ").starts_with("/*") {
        return action.find("*/").map_or(text.len(), |offset| inside + offset);
    }
    let mut quote = None;
    let mut escaped = false;
    for (offset, c) in action.char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(open) if c == '\\' && open != '`' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '`' | '\'') => quote = Some(c),
            None if action[offset..].starts_with("}}") => return inside + offset,
            None => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_must_be_closed_and_ends_must_close() {
        let cases = [
            ("no block", "a {{.x}}", Ok(())),
            ("closed", "{{if .x}}a{{else}}b{{end}}", Ok(())),
            ("nested and trimmed", "{{- range .x -}}\n{{- if . -}}{{- end -}}{{- end}}", Ok(())),
            ("keywords in comments and strings", "{{/* if }} */}}{{\"}}{{if\"}}{{`{{end}}`}}", Ok(())),
            ("a name that starts like a keyword", "{{ifs}}{{.end}}{{$if}}", Ok(())),
            ("unclosed", "a\n{{if .x}}\nb", Err((2, "`{{if}}` has no `{{end}}`"))),
            (
                "inner one unclosed",
                "{{range .x}}{{with .y}}{{end}}",
                Err((1, "`{{range}}` has no `{{end}}`")),
            ),
            ("stray end", "{{.x}}\n\n{{end}}", Err((3, "`{{end}}` belongs to no block"))),
            ("stray else", "{{else}}", Err((1, "`{{else}}` belongs to no block"))),
        ];
        for (name, text, expected) in cases {
            let found = check(text).map_err(|stray| (stray.line, stray.message));
            assert_eq!(
                found,
                expected.map_err(|(line, text): (usize, &str)| (line, text.into())),
                "case: {name}"
            );
        }
    }
}
