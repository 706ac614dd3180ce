//! A tiny builder that makes the tests read like sentences.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of its own for a test, removed when the test is over.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("schedlab-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("the temporary folder can be made");
        Folder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file below the folder and returns its path as text.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("below the folder")).expect("folders can be made");
        fs::write(&path, content).expect("the file can be written");
        path.display().to_string()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What the binary said and how it ended.
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Answer {
    pub(crate) fn of(output: Output) -> Answer {
        Answer {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    #[track_caller]
    pub(crate) fn ends_with(self, code: i32) -> Answer {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Answer {
        assert!(
            self.stdout.contains(text),
            "no {text:?} in stdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    #[track_caller]
    pub(crate) fn complains(self, text: &str) -> Answer {
        assert!(self.stderr.contains(text), "no {text:?} in stderr:\n{}", self.stderr);
        self
    }
}

pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_schedlab"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the binary in a folder.
pub(crate) fn schedlab_in(folder: &Folder, args: &[&str]) -> Answer {
    Answer::of(command(args).current_dir(folder.path()).output().expect("the binary runs"))
}

/// A config file with one small test case; `ops` are lines of its workloadTemplate.
pub(crate) fn config(ops: &str) -> String {
    format!(
        "- name: Case\n  workloadTemplate:\n{ops}  workloads:\n  - name: small\n    params: {{nodes: 3, pods: 6}}\n"
    )
}

pub(crate) const NODES: &str = "  - opcode: createNodes\n    countParam: $nodes\n";
pub(crate) const PODS: &str = "  - opcode: createPods\n    countParam: $pods\n    collectMetrics: true\n";
