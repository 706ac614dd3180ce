//! The command that starts a scheduler, with places for what only a run knows.

use std::path::Path;

/// Where the kubeconfig's path goes.
const KUBECONFIG: &str = "{kubeconfig}";
/// Where the path of the KubeSchedulerConfiguration goes.
const CONFIG: &str = "{config}";
/// Where the feature gates go, as `A=true,B=false`.
const GATES: &str = "{gates}";
/// Where a free port of loopback goes.
const PORT: &str = "{port}";

/// A command that cannot start a scheduler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// There is no program.
    #[error("the command is empty; write it as 'kube-scheduler --config {{config}}'")]
    Empty,
    /// The scheduler would not find the API server.
    #[error(
        "{command:?} names neither {{config}} nor {{kubeconfig}}, so the scheduler would not find the API server; \
         write it as 'kube-scheduler --config {{config}}'"
    )]
    NoPlace {
        /// The command.
        command: String,
    },
    /// A place that nothing is known for.
    #[error(
        "{place} in {command:?} is unknown; there are {{config}}, {{kubeconfig}}, {{gates}} and {{port}}"
    )]
    UnknownPlace {
        /// The place.
        place: String,
        /// The command.
        command: String,
    },
}

/// The words of a command, with places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandTemplate {
    words: Vec<String>,
}

/// What the places stand for in a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandValues<'a> {
    pub(crate) kubeconfig: &'a Path,
    pub(crate) config: &'a Path,
    pub(crate) gates: &'a str,
    pub(crate) port: u16,
}

impl CommandTemplate {
    /// Of a command's words.
    pub fn new(words: Vec<String>) -> Result<CommandTemplate, CommandError> {
        let command = words.join(" ");
        if words.is_empty() {
            return Err(CommandError::Empty);
        }
        if let Some(place) = words.iter().find_map(|word| unknown_place(word)) {
            return Err(CommandError::UnknownPlace { place: place.to_owned(), command });
        }
        let template = CommandTemplate { words };
        if !template.names(KUBECONFIG) && !template.names(CONFIG) {
            return Err(CommandError::NoPlace { command });
        }
        Ok(template)
    }

    fn names(&self, place: &str) -> bool {
        self.words.iter().any(|word| word.contains(place))
    }

    /// Whether the scheduler is told the feature gates.
    #[must_use]
    pub fn tells_gates(&self) -> bool {
        self.names(GATES)
    }

    /// As it was typed.
    #[must_use]
    pub fn text(&self) -> String {
        self.words.join(" ")
    }

    /// The words with values in their places; words stay words, whatever the values are.
    pub(crate) fn fill(&self, values: CommandValues<'_>) -> Vec<String> {
        self.words.iter().map(|word| fill(word, values)).collect()
    }
}

/// A text with values in its places.
pub(crate) fn fill(text: &str, values: CommandValues<'_>) -> String {
    let CommandValues { kubeconfig, config, gates, port } = values;
    text.replace(KUBECONFIG, &kubeconfig.display().to_string())
        .replace(CONFIG, &config.display().to_string())
        .replace(GATES, gates)
        .replace(PORT, &port.to_string())
}

/// Small letters in braces that are none of the places.
fn unknown_place(word: &str) -> Option<&str> {
    let mut rest = word;
    while let Some(begin) = rest.find('{') {
        let length = rest[begin..].find('}')? + 1;
        let place = &rest[begin..begin + length];
        let name = &place[1..length - 1];
        let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_lowercase());
        if is_name && ![KUBECONFIG, CONFIG, GATES, PORT].contains(&place) {
            return Some(place);
        }
        rest = &rest[begin + length..];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> Result<CommandTemplate, CommandError> {
        CommandTemplate::new(text.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn command_gets_its_paths_gates_and_port() {
        let template = template("nice ks --config={config} --feature-gates={gates} -p {port}").unwrap();
        let values = CommandValues {
            kubeconfig: Path::new("/k"),
            config: Path::new("/a b/c.json"),
            gates: "A=true,B=false",
            port: 99,
        };
        let filled = template.fill(values);
        assert_eq!(
            filled,
            ["nice", "ks", "--config=/a b/c.json", "--feature-gates=A=true,B=false", "-p", "99"]
        );
        assert!(template.tells_gates());
    }

    #[test]
    fn command_without_a_way_to_the_api_server_is_refused() {
        assert_eq!(template(""), Err(CommandError::Empty));
        let message = template("kube-scheduler --v 2").unwrap_err().to_string();
        assert!(message.starts_with("\"kube-scheduler --v 2\" names neither {config} nor"), "{message}");
        let message = template("ks --kubeconfig {kubeconfig} {conf}").unwrap_err().to_string();
        assert!(message.starts_with("{conf} in "), "{message}");
        assert!(template("ks {config} '{\"a\":1}' {}").is_ok(), "JSON has braces, too");
    }
}
