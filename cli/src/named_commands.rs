//! Commands that documents and messages name exist, with every flag: held against clap's own definition,
//! so that a flag that is renamed is renamed everywhere.

use std::path::Path;

use clap::{Command, CommandFactory, Parser};
use schedlab_tidy::SourceTree;

use crate::args::Cli;

/// Where a command is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A line of a code block: as a user would type it.
    Block,
    /// Between back quotes: possibly with placeholders.
    Inline,
}

/// The commands of a document, each with its place. A line that ends in a backslash goes on.
fn commands_of_document(text: &str) -> Vec<(Place, String)> {
    let mut found = Vec::new();
    let mut is_block = false;
    let mut begun: Option<String> = None;
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_block ^= is_fence;
        let typed = line.trim();
        let is_code = is_block || line.starts_with("    ");
        if let Some(command) = begun.take() {
            begun = Some(format!("{command} {typed}"));
        } else if is_code && let Some(command) = typed_command(typed) {
            begun = Some(command.to_owned());
        } else if !is_block {
            found.extend(inline_commands(line).map(|command| (Place::Inline, command.to_owned())));
        }
        if let Some(command) = begun.take() {
            match command.strip_suffix('\\') {
                Some(open) => begun = Some(open.to_owned()),
                None => found.extend(simple_commands(&command).map(|command| (Place::Block, command))),
            }
        }
    }
    found
}

/// The command of a line of a code block, behind the prompt if there is one.
fn typed_command(line: &str) -> Option<&str> {
    let command = line.strip_prefix("$ ").unwrap_or(line);
    command.starts_with("schedlab ").then_some(command)
}

/// What stands between back quotes on a line and begins with the program's name.
fn inline_commands(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').collect::<Vec<_>>();
    // The last piece has no closing quote.
    let closed = quoted.len().saturating_sub(1);
    let is_command = |quoted: &&str| quoted.starts_with("schedlab ") && !quoted.contains('{');
    quoted.into_iter().take(closed).skip(1).step_by(2).filter(is_command)
}

/// The commands of a line that the shell would run one after the other, those of ours alone.
fn simple_commands(line: &str) -> impl Iterator<Item = String> {
    let mut commands = vec![String::new()];
    for word in shell_words(line) {
        match word.as_str() {
            "|" | "&&" | ";" | "||" => commands.push(String::new()),
            _ => {
                let last = commands.last_mut().expect("there is one");
                last.push_str(&word);
                last.push('\u{0}');
            }
        }
    }
    commands.into_iter().filter(|command| command.starts_with("schedlab\u{0}"))
}

/// Words as a shell cuts them, up to a comment or a redirection.
fn shell_words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut is_open) = (Vec::new(), String::new(), None, false);
    for letter in line.chars().chain([' ']) {
        match (quote, letter) {
            (Some(open), letter) if open == letter => quote = None,
            (Some(_), letter) => word.push(letter),
            (None, '\'' | '"') => (quote, is_open) = (Some(letter), true),
            (None, '#' | '>') if word.is_empty() && !is_open => return words,
            (None, letter) if letter.is_whitespace() => {
                if is_open || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                is_open = false;
            }
            (None, letter) => word.push(letter),
        }
    }
    words
}

/// What is wrong with a command, if anything.
fn trouble(place: Place, command: &str) -> Option<String> {
    let words: Vec<String> = match place {
        Place::Block => command.split_terminator('\u{0}').map(str::to_owned).collect(),
        Place::Inline => shell_words(command),
    };
    let is_whole = !words.iter().any(|word| word.contains("...") || word.contains('|'));
    if place == Place::Block && is_whole {
        use clap::error::ErrorKind::{DisplayHelp, DisplayVersion};
        return match Cli::try_parse_from(&words) {
            Err(error) if !matches!(error.kind(), DisplayHelp | DisplayVersion) => {
                error.to_string().lines().next().map(str::to_owned)
            }
            _ => None,
        };
    }
    unknown_name(&words)
}

/// The first name of a command line that clap does not know.
fn unknown_name(words: &[String]) -> Option<String> {
    let cli = Cli::command();
    let mut rest = words.iter().skip(1).peekable();
    let mut command: &Command = &cli;
    while command.has_subcommands()
        && let Some(name) = rest.next_if(|word| !word.starts_with('-') && !word.starts_with("..."))
    {
        match command.find_subcommand(name) {
            Some(found) => command = found,
            None => return Some(format!("`{}` has no command `{name}`", command.get_name())),
        }
    }
    let flags = rest.filter_map(|word| word.strip_prefix("--")).filter(|flag| !flag.is_empty());
    for flag in flags {
        let name = flag.split(['=', '|']).next().unwrap_or_default();
        let knows = |arg: &clap::Arg| {
            arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|all| all.contains(&name))
        };
        if !command.get_arguments().any(knows) && !matches!(name, "help" | "version") {
            return Some(format!("`{}` has no flag `--{name}`", command.get_name()));
        }
    }
    None
}

/// Messages and comments: what stands between back quotes.
fn troubles_of_code(text: &str) -> Vec<String> {
    let commands = text.lines().flat_map(inline_commands);
    commands.filter_map(|it| Some(format!("`{it}`: {}", trouble(Place::Inline, it)?))).collect()
}

fn troubles_of_document(text: &str) -> Vec<String> {
    let of = |(place, command): (Place, String)| {
        let trouble = trouble(place, &command)?;
        Some(format!("`{}`: {trouble}", command.replace('\u{0}', " ")))
    };
    commands_of_document(text).into_iter().filter_map(of).collect()
}

#[test]
fn commands_in_documents_and_messages_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate stands in the workspace");
    let tree = SourceTree::read(root).expect("the workspace can be read");
    let mut seen = 0;
    let mut found = Vec::new();
    for file in &tree.files {
        let troubles = if file.path.ends_with(".md") {
            seen += commands_of_document(&file.text).len();
            troubles_of_document(&file.text)
        } else if file.path.ends_with(".rs") && file.path != "cli/src/named_commands.rs" {
            troubles_of_code(&file.text)
        } else {
            continue;
        };
        found.extend(troubles.into_iter().map(|trouble| format!("{}: {trouble}", file.path)));
    }
    assert!(seen > 80, "only {seen} commands were seen");
    assert!(found.is_empty(), "{} command(s) that do not exist:\n{}", found.len(), found.join("\n"));
}

#[test]
fn planted_command_that_does_not_exist_is_found() {
    let cases = [
        ("```console\n$ schedlab list --suite quick  # what runs\n```\n", 0),
        ("```console\n$ schedlab lists\n```\n", 1),
        ("```console\n$ schedlab run --filter '^A # b' \\\n    --no-such-flag\n```\n", 1),
        ("```console\n$ schedlab run --json | jq --gone\n$ schedlab site && schedlab gone\n```\n", 1),
        ("    schedlab run --repeat many\n", 1),
        ("Say `schedlab replay FILE...` or `schedlab run --class-cache off|on`.\n", 0),
        (
            "Say `schedlab experiment all --quick`, `schedlab experiment gone` or `schedlab experiment list --gone`.\n",
            2,
        ),
        ("Say `schedlab gone` or `schedlab run --gone on|off`.\n", 2),
    ];
    for (text, expected) in cases {
        let found = troubles_of_document(text);
        assert_eq!(found.len(), expected, "{text:?}: {found:?}");
    }
    assert_eq!(troubles_of_code("// see `schedlab gone`\nlet text = \"try `schedlab list`\";\n").len(), 1);
}
