//! What `cargo bench` at the root runs: `schedlab bench`, with the words behind `--`. It ends with
//! that program's exit code, which cargo passes on: 3 for a regression.
//!
//! A bench of this package, because this is the workspace's default member; the kernels are built by
//! the program itself, in a binary of their own and the same way for both sides.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let has = |wanted: &str| args.iter().any(|arg| arg == wanted);
    // Cargo passes --bench only when it benches: `cargo test --benches` only sees that it starts.
    let words: Vec<OsString> = if has("--bench") && !has("--list") && !has("--test") {
        args.iter().filter(|arg| *arg != "--bench").cloned().collect()
    } else {
        vec!["--help".into()]
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or_else(|| Path::new("."));
    let ended =
        Command::new(env!("CARGO_BIN_EXE_schedlab")).arg("bench").args(words).current_dir(root).status();
    let code = ended.ok().and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
    // Not started, or ended by a signal: it could not run.
    ExitCode::from(code.unwrap_or(2))
}
