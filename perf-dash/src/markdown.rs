//! Texts in Markdown. A name that is chosen by others must not become HTML, a link, a mention or another
//! cell of the table in a comment on a pull request.

/// A text as text, in a paragraph or a cell.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '|' | '`' | '[' | ']' | '*' | '\\' | '@' => escaped.extend(['\\', letter]),
            letter if letter.is_control() => escaped.push(' '),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// A text as code. Inside of it nothing but a backtick means anything.
pub(crate) fn code(text: &str) -> String {
    let plain = |letter: char| match letter {
        '`' => '\'',
        letter if letter.is_control() => ' ',
        letter => letter,
    };
    format!("`{}`", text.chars().map(plain).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_neither_html_nor_markdown() {
        assert_eq!(escape("Basic/5000Nodes"), "Basic/5000Nodes");
        assert_eq!(escape("<img src=x onerror=a()>"), "&lt;img src=x onerror=a()&gt;");
        assert_eq!(escape("a|b\n[x](y) @z &lt;"), "a\\|b \\[x\\](y) \\@z &amp;lt;");
        assert_eq!(code("a`<b>\nc"), "`a'<b> c`");
    }
}
