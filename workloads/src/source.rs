//! Where config files and templates come from: the disk, or the binary itself.

use std::fmt;
use std::path::{Component, Path, PathBuf};

/// The name every config file has, upstream and here.
pub const CONFIG_FILE_NAME: &str = "performance-config.yaml";

/// The largest file that is read. Upstream's largest has some ten kilobytes.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// A place that holds config files and the templates beside them.
pub trait Source: fmt::Debug + Send + Sync {
    /// The text of one file.
    fn read(&self, path: &Path) -> Result<String, SourceError>;

    /// The config files at or below `root`, sorted by path. A file stands for itself, whatever its name.
    fn configs(&self, root: &Path) -> Result<Vec<PathBuf>, SourceError>;
}

/// A file or directory that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// There is no such file or directory.
    #[error("{}: no such file or directory", path.display())]
    NotFound {
        /// The path that was looked for.
        path: PathBuf,
    },
    /// A directory without any config file below it.
    #[error("{}: no {CONFIG_FILE_NAME} in this directory or below it", root.display())]
    NoConfigs {
        /// The directory that was searched.
        root: PathBuf,
    },
    /// The operating system refuses.
    #[error("{}: {error}", path.display())]
    Io {
        /// The path that was read.
        path: PathBuf,
        /// What the operating system says.
        error: std::io::Error,
    },
}

/// Files on disk.
#[derive(Clone, Copy, Debug)]
pub struct DiskSource;

impl DiskSource {
    fn collect(directory: &Path, found: &mut Vec<PathBuf>) -> Result<(), SourceError> {
        let listing = std::fs::read_dir(directory).map_err(|error| SourceError::io(directory, error))?;
        for entry in listing {
            let entry = entry.map_err(|error| SourceError::io(directory, error))?;
            let kind = entry.file_type().map_err(|error| SourceError::io(&entry.path(), error))?;
            if kind.is_dir() {
                Self::collect(&entry.path(), found)?;
            } else if entry.file_name() == CONFIG_FILE_NAME {
                found.push(entry.path());
            }
        }
        Ok(())
    }
}

impl Source for DiskSource {
    /// A config file names its templates: a device or a pipe among them would never end.
    fn read(&self, path: &Path) -> Result<String, SourceError> {
        let refused = |error| SourceError::io(path, error);
        let metadata = std::fs::metadata(path).map_err(refused)?;
        if !metadata.is_file() {
            return Err(refused(std::io::Error::other("it is not a regular file")));
        }
        if FILE_BYTES_MAX < metadata.len() {
            return Err(refused(std::io::Error::other(format!(
                "its {} bytes are more than a config file or template has ({FILE_BYTES_MAX})",
                metadata.len()
            ))));
        }
        std::fs::read_to_string(path).map_err(refused)
    }

    fn configs(&self, root: &Path) -> Result<Vec<PathBuf>, SourceError> {
        let metadata = std::fs::metadata(root).map_err(|error| SourceError::io(root, error))?;
        if metadata.is_file() {
            return Ok(vec![root.to_owned()]);
        }
        let mut found = Vec::new();
        Self::collect(root, &mut found)?;
        found.sort();
        some_configs(root, found)
    }
}

/// Files compiled into the binary: a table of path and text.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddedSource {
    /// Path and text of each file. Paths use `/` and have no `..`.
    pub files: &'static [(&'static str, &'static str)],
}

impl Source for EmbeddedSource {
    fn read(&self, path: &Path) -> Result<String, SourceError> {
        let wanted = without_dots(path);
        self.files
            .iter()
            .find(|(name, _)| Path::new(name) == wanted)
            .map(|(_, text)| (*text).to_owned())
            .ok_or_else(|| SourceError::NotFound { path: path.to_owned() })
    }

    fn configs(&self, root: &Path) -> Result<Vec<PathBuf>, SourceError> {
        let root = without_dots(root);
        let below =
            self.files.iter().map(|(name, _)| Path::new(name)).filter(|name| {
                *name == root || (name.starts_with(&root) && name.ends_with(CONFIG_FILE_NAME))
            });
        let mut found: Vec<PathBuf> = below.map(Path::to_owned).collect();
        found.sort();
        some_configs(&root, found)
    }
}

impl SourceError {
    /// The same error about a path that is easier to read.
    pub(crate) fn renamed(self, path: PathBuf) -> Self {
        match self {
            Self::NotFound { .. } => Self::NotFound { path },
            Self::NoConfigs { .. } => Self::NoConfigs { root: path },
            Self::Io { error, .. } => Self::Io { path, error },
        }
    }

    fn io(path: &Path, error: std::io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            std::io::ErrorKind::NotFound => Self::NotFound { path },
            _ => Self::Io { path, error },
        }
    }
}

fn some_configs(root: &Path, found: Vec<PathBuf>) -> Result<Vec<PathBuf>, SourceError> {
    if found.is_empty() {
        return Err(SourceError::NoConfigs { root: root.to_owned() });
    }
    Ok(found)
}

/// The path with every `.` dropped and every `name/..` cut out.
pub(crate) fn without_dots(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if clean.file_name().is_some() => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: EmbeddedSource = EmbeddedSource {
        files: &[
            ("b/performance-config.yaml", "B"),
            ("a/performance-config.yaml", "A"),
            ("templates/pod.yaml", "pod"),
        ],
    };

    #[test]
    fn embedded_files_are_found_through_relative_paths() {
        assert_eq!(FILES.read(Path::new("a/../templates/./pod.yaml")).unwrap(), "pod");
        let error = FILES.read(Path::new("templates/node.yaml")).unwrap_err();
        assert_eq!(error.to_string(), "templates/node.yaml: no such file or directory");
    }

    #[test]
    fn configs_come_sorted_and_a_file_stands_for_itself() {
        let all = FILES.configs(Path::new("")).unwrap();
        assert_eq!(all, [Path::new("a/performance-config.yaml"), Path::new("b/performance-config.yaml")]);
        let one = FILES.configs(Path::new("b")).unwrap();
        assert_eq!(one, [Path::new("b/performance-config.yaml")]);
        let error = FILES.configs(Path::new("templates")).unwrap_err();
        assert_eq!(error.to_string(), "templates: no performance-config.yaml in this directory or below it");
    }

    #[test]
    fn a_missing_path_on_disk_is_named() {
        let error = DiskSource.configs(Path::new("/nowhere/at/all")).unwrap_err();
        assert_eq!(error.to_string(), "/nowhere/at/all: no such file or directory");
    }

    #[test]
    fn template_that_is_a_device_or_a_directory_is_refused() {
        for path in ["/dev/zero", "/"] {
            let error = DiskSource.read(Path::new(path)).unwrap_err();
            assert_eq!(error.to_string(), format!("{path}: it is not a regular file"));
        }
    }

    #[test]
    fn dots_are_cut_out_of_paths() {
        let cases = [("a/../b", "b"), ("./a/./b", "a/b"), ("../a", "../a"), ("a/b/../../c", "c")];
        for (path, expected) in cases {
            assert_eq!(without_dots(Path::new(path)), Path::new(expected), "path: {path}");
        }
    }
}
