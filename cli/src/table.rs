//! Tables for a terminal: they fit its width, verdicts have a colour there, and in a pipe there is
//! neither a colour nor a break.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, Color, ContentArrangement, Table};

use crate::terminal::{mark, printable_cell};

/// How a column is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// What a cell says about its row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    Good,
    Bad,
    Unsure,
}

/// Text with a tone.
pub(crate) type Toned = (String, Tone);

/// Renders rows under a heading, as wide as standard output is.
pub(crate) fn render(columns: &[(&str, Align)], rows: &[Vec<String>]) -> String {
    let plain = |cell: &String| (cell.clone(), Tone::Plain);
    let rows: Vec<Vec<Toned>> = rows.iter().map(|row| row.iter().map(plain).collect()).collect();
    render_toned(columns, &rows, terminal_width())
}

/// The same, with tones, within a width; without one nothing is broken.
pub(crate) fn render_toned(columns: &[(&str, Align)], rows: &[Vec<Toned>], width: Option<u16>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    match width {
        Some(width) => table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width),
        None => table.set_content_arrangement(ContentArrangement::Disabled),
    };
    let aligned = |at: usize| match columns[at].1 {
        Align::Left => CellAlignment::Left,
        Align::Right => CellAlignment::Right,
    };
    let heading = columns.iter().enumerate();
    table.set_header(heading.map(|(at, (name, _))| Cell::new(name).set_alignment(aligned(at))));
    for row in rows {
        let cells = row.iter().enumerate();
        table.add_row(cells.map(|(at, (text, tone))| cell(text, *tone).set_alignment(aligned(at))));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    marked(&table)
}

/// A line with a tone, coloured where tables are: on a terminal, unless `NO_COLOR` is set.
pub(crate) fn toned(text: &str, tone: Tone) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.add_row([cell(text, tone)]);
    for column in table.column_iter_mut() {
        column.set_padding((0, 0));
    }
    marked(&table)
}

/// The only escape characters in a table are those of its colours: cells were cleaned.
fn marked(table: &Table) -> String {
    table.trim_fmt().replace('\u{1b}', mark())
}

fn cell(text: &str, tone: Tone) -> Cell {
    let cell = Cell::new(printable_cell(text));
    match tone {
        _ if !wants_colour(std::env::var_os("NO_COLOR").as_deref()) => cell,
        Tone::Plain => cell,
        Tone::Good => cell.fg(Color::Green),
        Tone::Bad => cell.fg(Color::Red),
        Tone::Unsure => cell.fg(Color::Yellow),
    }
}

/// `NO_COLOR`, set to anything, asks for none (no-color.org). The table library leaves empty escape
/// sequences behind then, so it is not told of a colour at all.
fn wants_colour(no_color: Option<&std::ffi::OsStr>) -> bool {
    no_color.is_none_or(std::ffi::OsStr::is_empty)
}

/// Columns of the terminal that standard output is; `None` when it is none. `COLUMNS` wins.
pub(crate) fn terminal_width() -> Option<u16> {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    asked.filter(|&columns| 20 <= columns).or_else(|| Table::new().width())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(cells: &[&[&str]]) -> Vec<Vec<Toned>> {
        let row = |row: &&[&str]| row.iter().map(|cell| ((*cell).to_owned(), Tone::Plain)).collect();
        cells.iter().map(row).collect()
    }

    #[test]
    fn columns_line_up() {
        let columns = [("name", Align::Left), ("n", Align::Right)];
        let text = render_toned(&columns, &rows(&[&["a", "1,000"], &["longer", "2"]]), None);
        assert_eq!(text, "name        n\na       1,000\nlonger      2");
    }

    #[test]
    fn non_empty_no_color_disables_colours() {
        use std::ffi::OsStr;
        assert!(wants_colour(None) && wants_colour(Some(OsStr::new(""))));
        assert!(!wants_colour(Some(OsStr::new("1"))) && !wants_colour(Some(OsStr::new("false"))));
    }

    #[test]
    fn a_table_fits_its_width() {
        let columns = [("workload", Align::Left), ("pods/s", Align::Right), ("SLO", Align::Left)];
        let name = "SchedulingWithExtendedResource/5000Nodes_AsyncAPICallsEnabled_AndALongName";
        let text = render_toned(&columns, &rows(&[&[name, "1,000,000", "pass"]]), Some(60));
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        assert!(text.contains("1,000,000"), "{text}");
    }
}
