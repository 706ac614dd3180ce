//! The program: the command line with the plugins that ship with schedlab.

fn main() -> std::process::ExitCode {
    schedlab::SchedlabCommand::new().run()
}
