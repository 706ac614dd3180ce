//! Takes events out of a failing script for as long as it fails the same way: first large pieces,
//! then small ones (delta debugging), then pauses.

use super::run::SimulationOutcome;
use super::scenario::{Scenario, ScriptEvent};
use super::violation::Violation;

/// Runs that shrinking may take.
const RUNS_MAX: usize = 3_000;

/// A smaller scenario that violates the same invariant.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The scenario.
    pub scenario: Scenario,
    /// How it fails.
    pub violation: Violation,
    /// Runs that it took to find.
    pub runs: usize,
}

struct Shrinker<'r> {
    best: Scenario,
    violation: Violation,
    runs: usize,
    run: &'r mut dyn FnMut(&Scenario) -> SimulationOutcome,
}

/// Shrinks a scenario that fails with `violation`.
pub fn shrink(
    scenario: &Scenario,
    violation: &Violation,
    run: &mut dyn FnMut(&Scenario) -> SimulationOutcome,
) -> Shrunk {
    let mut shrinker = Shrinker { best: scenario.clone(), violation: violation.clone(), runs: 0, run };
    loop {
        let before = shrinker.best.script.len();
        shrinker.remove_pieces();
        shrinker.drop_pauses();
        if shrinker.best.script.len() == before || shrinker.runs >= RUNS_MAX {
            break;
        }
    }
    let Shrinker { best, violation, runs, .. } = shrinker;
    Shrunk { scenario: best, violation, runs }
}

impl Shrinker<'_> {
    /// Keeps a script if it still fails the same way.
    fn try_script(&mut self, script: Vec<ScriptEvent>) -> bool {
        if self.runs >= RUNS_MAX {
            return false;
        }
        self.runs += 1;
        let candidate = Scenario { script, ..self.best.clone() };
        match (self.run)(&candidate).violation {
            Some(violation) if violation.invariant == self.violation.invariant => {
                self.best = candidate;
                self.violation = violation;
                true
            }
            _ => false,
        }
    }

    fn remove_pieces(&mut self) {
        let mut size = (self.best.script.len() / 2).max(1);
        loop {
            let mut at = 0;
            let mut has_removed = false;
            while at < self.best.script.len() {
                let mut script = self.best.script.clone();
                script.drain(at..(at + size).min(script.len()));
                if self.try_script(script) {
                    has_removed = true;
                } else {
                    at += size;
                }
            }
            if size == 1 && !has_removed {
                return;
            }
            size = (size / 2).max(1);
        }
    }

    /// Pauses go.
    fn drop_pauses(&mut self) {
        for at in 0..self.best.script.len() {
            if self.best.script[at].after_us > 0 {
                let mut script = self.best.script.clone();
                script[at].after_us = 0;
                self.try_script(script);
            }
        }
    }
}
