//! A configuration file that is looked at again while a scheduler runs.
//!
//! The text is compared, not the time of its last change: editors and config maps replace files,
//! copy old times along, and write the same text again. A text counts once two looks in a row have
//! seen it, so that a file is not read while somebody writes it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{ConfigError, SchedulerConfig};

/// Between two looks at the file: a change takes effect within a second.
pub(crate) const POLL: Duration = Duration::from_millis(250);

/// What a look at the file brought.
#[derive(Debug)]
pub enum Reloaded {
    /// Nothing new.
    Unchanged,
    /// It says something else, and that can be used.
    Changed(Box<SchedulerConfig>),
    /// It says something that cannot be used. Said once, not at every look.
    Refused(ConfigError),
}

/// Remembers what a file said last.
#[derive(Debug)]
pub struct ConfigWatch {
    path: PathBuf,
    /// What it said when it counted last.
    taken: String,
    /// What the last look saw, when that was something else; `None` in it is a file that could not
    /// be read.
    seen: Option<Option<String>>,
    is_missing: bool,
}

impl ConfigWatch {
    /// A watch on a file that said `text` when it was read for the start.
    #[must_use]
    pub fn new(path: &Path, text: &str) -> ConfigWatch {
        ConfigWatch { path: path.to_owned(), taken: text.to_owned(), seen: None, is_missing: false }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Looks at the file.
    pub fn look(&mut self) -> Reloaded {
        let read = std::fs::read_to_string(&self.path);
        if read.as_ref().is_ok_and(|text| *text == self.taken) {
            (self.seen, self.is_missing) = (None, false);
            return Reloaded::Unchanged;
        }
        let now = read.as_ref().ok().cloned();
        if self.seen.as_ref() != Some(&now) {
            self.seen = Some(now);
            return Reloaded::Unchanged;
        }
        match read {
            Ok(text) => {
                let read = SchedulerConfig::parse(&self.path.display().to_string(), &text);
                (self.taken, self.seen, self.is_missing) = (text, None, false);
                match read {
                    Ok(config) => Reloaded::Changed(Box::new(config)),
                    Err(error) => Reloaded::Refused(error.into()),
                }
            }
            Err(_) if self.is_missing => Reloaded::Unchanged,
            Err(error) => {
                self.is_missing = true;
                Reloaded::Refused(ConfigError::File { path: self.path.clone(), error })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

    /// Looks until something comes, at most three times.
    fn news(watch: &mut ConfigWatch) -> String {
        for _ in 0..3 {
            match watch.look() {
                Reloaded::Unchanged => {}
                Reloaded::Changed(config) => return format!("parallelism {}", config.parallelism),
                Reloaded::Refused(error) => return error.to_string(),
            }
        }
        "nothing".to_owned()
    }

    #[test]
    fn configuration_change_and_error_are_reported_once() {
        let folder = std::env::temp_dir().join(format!("schedlab-watch-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("scheduler.yaml");
        let write = |more: &str| std::fs::write(&path, format!("{FIRST}{more}")).unwrap();
        write("");
        let mut watch = ConfigWatch::new(&path, FIRST);
        assert_eq!(news(&mut watch), "nothing");

        write("parallelism: 4\n");
        assert!(matches!(watch.look(), Reloaded::Unchanged), "a text that was seen once may be half written");
        assert_eq!(news(&mut watch), "parallelism 4");
        assert_eq!(news(&mut watch), "nothing");

        write("parallelism: 0\n");
        assert!(news(&mut watch).contains(":3:14: `parallelism: 0` of KubeSchedulerConfiguration"));
        assert_eq!(news(&mut watch), "nothing");

        std::fs::remove_file(&path).unwrap();
        assert!(news(&mut watch).contains("cannot be read"));
        assert_eq!(news(&mut watch), "nothing");

        write("parallelism: 5\n");
        assert_eq!(news(&mut watch), "parallelism 5");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
