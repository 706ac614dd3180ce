//! Notes the commit the binary is built from, when it is built from a checkout with git at hand.

use std::process::Command;

fn main() {
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    if let Ok(output) = output
        && output.status.success()
    {
        let revision = String::from_utf8_lossy(&output.stdout);
        println!("cargo::rustc-env=SCHEDLAB_GIT_REVISION={}", revision.trim());
    }
    println!("cargo::rerun-if-changed=../.git/HEAD");
    println!("cargo::rerun-if-changed=../.git/refs/heads");
}
