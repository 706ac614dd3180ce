//! `schedlab replay`: does the engine decide as the recorded kube-scheduler did?

use anyhow::Result;
use schedlab_workloads::replay::replay_file;

use crate::Exit;
use crate::args::ReplayArgs;
use crate::progress::say;

pub(crate) fn replay(args: &ReplayArgs) -> Result<Exit> {
    let (mut steps, mut differences) = (0, 0);
    for path in &args.files {
        let report = replay_file(path)?;
        steps += report.steps;
        differences += report.difference_count;
        say(&format!(
            "{}: {} steps, {} decisions, {} comparisons, {} differences",
            report.name, report.steps, report.schedule_steps, report.comparisons, report.difference_count
        ));
        for difference in report.differences.iter().take(args.show) {
            say(&format!("  {difference}"));
        }
        let shown = report.differences.len().min(args.show) as u64;
        if shown < report.difference_count {
            say(&format!("  ... and {} more (--show N prints more)", report.difference_count - shown));
        }
    }
    say(&format!("{} traces, {steps} steps, {differences} differences", args.files.len()));
    Ok(if differences == 0 { Exit::Fine } else { Exit::CheckFailed })
}
