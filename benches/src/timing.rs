//! Times of kernels: on the wall, and of the thread alone.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

use crate::suite::Prepared;

/// What some turns took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimingSample {
    /// By the monotonic clock.
    pub wall_ns: u64,
    /// By the thread's own clock, which stands still while another program has the core.
    pub cpu_ns: u64,
    /// What was decided.
    pub answer: u64,
}

/// Times so many turns. Putting the input back between batches is off the clock.
pub fn sample(prepared: &mut Prepared, turns: usize) -> TimingSample {
    let mut sample = TimingSample::default();
    let mut left = turns;
    while 0 < left {
        let batch = left.min(prepared.batch_max());
        // Reading the thread's clock is a system call: outside, so that the wall does not see it.
        let cpu = thread_cpu_ns();
        let wall = Instant::now();
        sample.answer = sample.answer.rotate_left(1) ^ prepared.batch(batch);
        sample.wall_ns += u64::try_from(wall.elapsed().as_nanos()).unwrap_or(u64::MAX);
        sample.cpu_ns += thread_cpu_ns() - cpu;
        prepared.restore();
        left -= batch;
    }
    sample
}

/// Processor time of this thread.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::GateSuite;

    #[test]
    fn more_turns_than_a_batch_are_timed_in_several_and_answer_alike() {
        for kernel in GateSuite::Short.timed() {
            let mut twins = [kernel.prepare(), kernel.prepare()];
            let [one, other] = twins.each_mut().map(|prepared| sample(prepared, 300));
            assert_eq!(one.answer, other.answer, "{}", kernel.path());
            assert!(0 < one.wall_ns && 0 < one.cpu_ns, "{one:?}");
        }
    }
}
