//! `fuzz [TARGET] FROM..TO`: inputs of a range of numbers; `fuzz TARGET NUMBER`: one input, printed.

use std::io::Write as _;
use std::process::ExitCode;

use schedlab_fuzz::{Corpus, TARGETS, Target, input, run};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--list"] => TARGETS.iter().for_each(|target| say(&format!("{} {}", target.name, target.share))),
        [name, numbers] => return fuzz(name, numbers).unwrap_or_else(|why| fail(&why)),
        _ => return fail("usage: fuzz --list | fuzz TARGET FROM..TO | fuzz TARGET NUMBER"),
    }
    ExitCode::SUCCESS
}

fn fuzz(name: &str, numbers: &str) -> Result<ExitCode, String> {
    let target = TARGETS.iter().find(|target| target.name == name);
    let target = target.ok_or_else(|| format!("{name}: no such target; --list names them"))?;
    let number = |text: &str| text.parse::<u64>().map_err(|error| format!("{text}: {error}"));
    let corpus = Corpus::load();
    if let Some((from, to)) = numbers.split_once("..") {
        return Ok(range(target, &corpus, number(from)?..number(to)?));
    }
    let bytes = input(target, &corpus, number(numbers)?);
    let _ = std::io::stdout().write_all(&bytes);
    let found = run(target, &corpus, number(numbers)?..number(numbers)? + 1, hang);
    Ok(if found.panics.is_empty() && found.hangs.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn range(target: &Target, corpus: &Corpus, numbers: std::ops::Range<u64>) -> ExitCode {
    let found = run(target, corpus, numbers.clone(), hang);
    say(&format!(
        "{} {}..{}: {} inputs, {} accepted, {} panics, {} hangs, slowest {:.3} s (number {})",
        target.name,
        numbers.start,
        numbers.end,
        found.inputs,
        found.accepted,
        found.panics.len(),
        found.hangs.len(),
        found.slowest.0.as_secs_f64(),
        found.slowest.1
    ));
    for number in found.panics.iter().chain(&found.hangs) {
        say(&format!("  cargo run -p schedlab-fuzz -- {} {number}", target.name));
    }
    if found.panics.is_empty() && found.hangs.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// An input that does not end ends the process: nothing else can be tried meanwhile.
fn hang(target: &str, number: u64) {
    say(&format!("hang: cargo run -p schedlab-fuzz -- {target} {number}"));
    std::process::exit(1);
}

fn say(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

fn fail(why: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr().lock(), "fuzz: {why}");
    ExitCode::from(2)
}
