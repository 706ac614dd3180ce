//! Plain text tables: left-aligned text, right-aligned numbers.

/// How a column is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Renders rows under a heading; widths follow the content.
pub(crate) fn render(columns: &[(&str, Align)], rows: &[Vec<String>]) -> String {
    let width = |at: usize| {
        let cells = rows.iter().map(|row| row[at].chars().count());
        cells.chain([columns[at].0.chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let line = |cells: &[&str]| {
        let padded = cells.iter().zip(columns).zip(&widths).map(|((cell, (_, align)), &width)| match align {
            Align::Left => format!("{cell:<width$}"),
            Align::Right => format!("{cell:>width$}"),
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let heading: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let mut lines = vec![line(&heading)];
    for row in rows {
        lines.push(line(&row.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let text = render(
            &[("name", Align::Left), ("n", Align::Right)],
            &[vec!["a".to_owned(), "1,000".to_owned()], vec!["longer".to_owned(), "2".to_owned()]],
        );
        assert_eq!(text, "name        n\na       1,000\nlonger      2");
    }
}
