//! What the machine did while a workload was measured: why a number is wide, or low.

use serde::{Deserialize, Serialize};

/// What the operating system says of one measured part, or of several taken together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// From the first creation to the last binding, on the clock.
    pub wall_ms: f64,
    /// Of it, time in which the scheduler thread could have run and had no processor, because
    /// others had it; and time in which it had nothing to do because the thread that creates pods had
    /// none. It is not part of the measured interval.
    pub waited_ms: f64,
    /// How often the scheduler thread was taken off its processor.
    pub involuntary_switches: u64,
    /// Pages that were mapped or cleared inside the measured part, by all threads of the process.
    pub page_faults: u64,
    /// Share of the processors' time that the hypervisor gave to other guests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_share: Option<f64>,
    /// Processes that wanted a processor, over the last minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_average: Option<f64>,
    /// Lowest frequency of a processor, where the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_mhz: Option<f64>,
    /// Highest frequency that the processor may run at, where the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_max_mhz: Option<f64>,
    /// What one look at the clock takes. A clock that the kernel must be asked for makes every
    /// latency longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_read_ns: Option<f64>,
}

impl Conditions {
    /// What held over several runs: times and counts add up; of what is read at one moment the
    /// worst counts. Steal comes in ticks, so that its share in one short run says nothing: over all
    /// of them it does.
    #[must_use]
    pub fn over(runs: &[Conditions]) -> Option<Conditions> {
        if runs.is_empty() {
            return None;
        }
        let worst =
            |pick: fn(&Conditions) -> Option<f64>| runs.iter().filter_map(pick).max_by(f64::total_cmp);
        Some(Conditions {
            wall_ms: runs.iter().map(|run| run.wall_ms).sum(),
            waited_ms: runs.iter().map(|run| run.waited_ms).sum(),
            involuntary_switches: runs.iter().map(|run| run.involuntary_switches).sum(),
            page_faults: runs.iter().map(|run| run.page_faults).sum(),
            steal_share: mean_steal(runs),
            load_average: worst(|run| run.load_average),
            frequency_mhz: runs.iter().filter_map(|run| run.frequency_mhz).min_by(f64::total_cmp),
            frequency_max_mhz: worst(|run| run.frequency_max_mhz),
            clock_read_ns: worst(|run| run.clock_read_ns),
        })
    }

    /// Share of the time that was lost for want of a processor.
    #[must_use]
    pub fn waited_share(&self) -> f64 {
        if 0.0 < self.wall_ms { self.waited_ms / self.wall_ms } else { 0.0 }
    }

    /// The same over several runs; 0 when nothing is known.
    #[must_use]
    pub fn waited_share_over(runs: &[Conditions]) -> f64 {
        Conditions::over(runs).map_or(0.0, |over| over.waited_share())
    }

    /// What of it makes numbers wide or low, in words, the worst first; empty on a quiet machine.
    #[must_use]
    pub fn troubles(&self, cores: u32) -> Vec<String> {
        let mut troubles = Vec::new();
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        if WAITED_SHARE_MAX < self.waited_share() {
            let share = percent(self.waited_share());
            troubles.push(format!("other processes had the processor for {share} of the measured time"));
        }
        if let Some(steal) = self.steal_share.filter(|&steal| STEAL_SHARE_MAX < steal) {
            troubles.push(format!("the hypervisor took {} of the processors' time", percent(steal)));
        }
        if let Some(load) = self.load_average.filter(|&load| f64::from(cores) < load) {
            troubles.push(format!("load average {load:.1} on {cores} core(s)"));
        }
        let faults_per_ms = self.page_faults as f64 / self.wall_ms.max(1e-9);
        if FAULTS_PER_MS_MAX < faults_per_ms {
            troubles.push(format!("{faults_per_ms:.0} page faults a millisecond"));
        }
        let switches_per_ms = self.involuntary_switches as f64 / self.wall_ms.max(1e-9);
        if SWITCHES_PER_MS_MAX < switches_per_ms {
            troubles.push(format!(
                "the scheduler thread was taken off its processor {switches_per_ms:.0} times a millisecond"
            ));
        }
        if let (Some(now), Some(most)) = (self.frequency_mhz, self.frequency_max_mhz)
            && now < FREQUENCY_SHARE_MIN * most
        {
            troubles.push(format!("the processor ran at {now:.0} of {most:.0} MHz"));
        }
        if let Some(clock_ns) = self.clock_read_ns.filter(|&ns| CLOCK_READ_NS_MAX < ns) {
            troubles.push(format!("a look at the clock takes {clock_ns:.0} ns"));
        }
        troubles
    }
}

/// Share of all their time that was stolen.
fn mean_steal(runs: &[Conditions]) -> Option<f64> {
    let known: Vec<(f64, f64)> =
        runs.iter().filter_map(|run| Some((run.steal_share?, run.wall_ms))).collect();
    let whole_ms: f64 = known.iter().map(|(_, wall_ms)| wall_ms).sum();
    (0.0 < whole_ms).then(|| known.iter().map(|(share, wall_ms)| share * wall_ms).sum::<f64>() / whole_ms)
}

/// A tick of the timer and a kernel thread take a percent on an idle machine; more is somebody else.
const WAITED_SHARE_MAX: f64 = 0.05;
/// Steal comes in ticks of 10 ms over all processors; a percent is rounding.
const STEAL_SHARE_MAX: f64 = 0.02;
/// A fault takes about half a microsecond: beyond this they are a percent of the time.
const FAULTS_PER_MS_MAX: f64 = 20.0;

/// A switch takes about two microseconds: beyond this they are a percent of the time.
const SWITCHES_PER_MS_MAX: f64 = 5.0;
/// Below this share of its highest frequency a processor saves power or is too hot.
const FREQUENCY_SHARE_MIN: f64 = 0.8;
/// A clock that is read in the process takes 20 to 50 ns; one that the kernel is asked for, hundreds.
const CLOCK_READ_NS_MAX: f64 = 200.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet() -> Conditions {
        Conditions { wall_ms: 50.0, waited_ms: 0.2, load_average: Some(0.4), ..Conditions::default() }
    }

    #[test]
    fn quiet_machine_gives_no_trouble() {
        assert!(quiet().troubles(2).is_empty());
    }

    #[test]
    fn each_trouble_is_named_with_its_size() {
        let cases = [
            (
                Conditions { waited_ms: 20.0, ..quiet() },
                "other processes had the processor for 40 % of the measured time",
            ),
            (
                Conditions { steal_share: Some(0.1), ..quiet() },
                "the hypervisor took 10 % of the processors' time",
            ),
            (Conditions { load_average: Some(4.4), ..quiet() }, "load average 4.4 on 2 core(s)"),
            (Conditions { page_faults: 5000, ..quiet() }, "100 page faults a millisecond"),
            (
                Conditions { involuntary_switches: 1000, ..quiet() },
                "the scheduler thread was taken off its processor 20 times a millisecond",
            ),
            (
                Conditions { frequency_mhz: Some(1200.0), frequency_max_mhz: Some(3000.0), ..quiet() },
                "the processor ran at 1200 of 3000 MHz",
            ),
            (Conditions { clock_read_ns: Some(900.0), ..quiet() }, "a look at the clock takes 900 ns"),
        ];
        for (conditions, wanted) in cases {
            assert_eq!(conditions.troubles(2), [wanted]);
        }
    }

    #[test]
    fn runs_add_up_and_the_worst_moment_counts() {
        let busy = Conditions { waited_ms: 49.8, load_average: Some(3.0), page_faults: 7, ..quiet() };
        let over = Conditions::over(&[quiet(), busy]).expect("two runs");
        assert_eq!(over.waited_share(), 0.5);
        assert_eq!((over.load_average, over.page_faults), (Some(3.0), 7));
        assert_eq!(Conditions::over(&[]), None);
        let stolen = Conditions { steal_share: Some(0.2), ..quiet() };
        let calm = Conditions { steal_share: Some(0.0), wall_ms: 150.0, ..quiet() };
        assert_eq!(Conditions::over(&[stolen, calm]).and_then(|over| over.steal_share), Some(0.05));
    }
}
