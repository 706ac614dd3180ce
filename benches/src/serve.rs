//! How the gate talks to a build: lines in, lines out, so that two builds that stay warm in two
//! processes can take turns within milliseconds.
//!
//! ```text
//! gate: time cycle/plain/cached/1000n 4000 2        path, turns of a block, blocks
//! here: 1203345 1203001 1198770 1198502 81526       wall and CPU ns of each block, the answer
//! ```
//!
//! A line that cannot be served is answered with `error: ` and why.

use std::io::{BufRead, Write};

use crate::suite::{GateSuite, Kernel, Prepared};
use crate::timing::{TimingSample, sample};

/// Serves until the input ends.
pub fn serve(suite: GateSuite, input: impl BufRead, mut output: impl Write) -> std::io::Result<()> {
    let mut server = Server { kernels: suite.timed(), prepared: Vec::new() };
    for line in input.lines() {
        let answer = server.answer(&line?).unwrap_or_else(|why| format!("error: {why}"));
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

struct Server {
    kernels: Vec<Kernel>,
    /// Made when first asked for.
    prepared: Vec<(String, Prepared)>,
}

impl Server {
    fn answer(&mut self, line: &str) -> Result<String, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["time", path, turns, blocks] => self.time(path, number(turns)?, number(blocks)?),
            _ => Err(format!("{line:?} is not `time PATH TURNS BLOCKS`")),
        }
    }

    fn time(&mut self, path: &str, turns: usize, blocks: usize) -> Result<String, String> {
        let prepared = self.prepared(path)?;
        let (mut answer, mut text) = (0_u64, String::new());
        for _ in 0..blocks {
            let TimingSample { wall_ns, cpu_ns, answer: of_block } = sample(prepared, turns);
            answer = answer.rotate_left(1) ^ of_block;
            text.push_str(&format!("{wall_ns} {cpu_ns} "));
        }
        Ok(format!("{text}{answer}"))
    }

    fn prepared(&mut self, path: &str) -> Result<&mut Prepared, String> {
        let at = match self.prepared.iter().position(|(name, _)| name == path) {
            Some(at) => at,
            None => {
                let kernel = self.kernels.iter().find(|kernel| kernel.path() == path);
                let kernel = kernel.ok_or_else(|| format!("this build has no kernel {path}"))?;
                self.prepared.push((path.to_owned(), kernel.prepare()));
                self.prepared.len() - 1
            }
        };
        Ok(&mut self.prepared[at].1)
    }
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replies(input: &str) -> Vec<String> {
        let mut output = Vec::new();
        serve(GateSuite::Short, input.as_bytes(), &mut output).expect("written to memory");
        String::from_utf8(output).expect("text").lines().map(str::to_owned).collect()
    }

    #[test]
    fn blocks_are_timed_and_the_answer_is_the_same_for_the_same_questions() {
        let ask = "time cycle/plain/cached/1000n 10 2\ntime cycle/plain/cached/1000n 10 1\n";
        let (one, other) = (replies(ask), replies(ask));
        let answers = |lines: &[String]| -> Vec<String> {
            lines.iter().map(|line| line.split(' ').next_back().expect("an answer").to_owned()).collect()
        };
        assert_eq!(answers(&one), answers(&other));
        assert_eq!(one[0].split(' ').count(), 5);
        assert_eq!(one[1].split(' ').count(), 3);
    }

    #[test]
    fn unknown_requests_get_an_error_message() {
        let got = replies("time nothing 1 1\ntime life/plain/1000n one 1\nhello\n");
        assert_eq!(
            got,
            [
                "error: this build has no kernel nothing",
                "error: \"one\" is not a number",
                "error: \"hello\" is not `time PATH TURNS BLOCKS`"
            ]
        );
    }
}
