//! A plugin author's own program: all of schedlab's command line, with two plugins in it.

use std::process::ExitCode;

use schedlab_examples::{gang, gpu_fragmentation};

fn main() -> ExitCode {
    schedlab::SchedlabCommand::new()
        .with_plugin(gang::NAME, gang::factory)
        .with_plugin(gpu_fragmentation::NAME, gpu_fragmentation::factory)
        .run()
}
