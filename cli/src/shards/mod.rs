//! A list of independent units, cut into shards that run on any machine and are put together again.
//!
//! ```text
//! units 0..U ──unit % N == I──▶ shard I of N ──▶ DIR/shard-I-of-N/units.jsonl ─▶ manifest.json
//!                                                a line a unit; a killed shard    at the end
//!                                                goes on behind the last line
//! schedlab merge DIR... ──▶ all units in their order ──▶ what a run of one shard writes
//! ```
//!
//! What units say depends on nothing but their settings where the command is deterministic, so that the
//! merged files are those of one machine, byte for byte.

mod log;
mod merge;

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::{Deserialize, Serialize};

pub(crate) use log::{UnitLog, Units, identity};
pub(crate) use merge::{Merged, gather};

/// What an Indexed Job tells each of its pods.
const JOB_INDEX: &str = "JOB_COMPLETION_INDEX";
/// More machines than anybody has.
const SHARDS_MAX: u32 = 100_000;

/// One of several equal parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub(crate) struct Shard {
    /// From 0.
    pub(crate) index: u32,
    /// How many there are.
    pub(crate) count: u32,
}

/// A shard as a file has it, which anybody may have written.
#[derive(Deserialize)]
struct Written {
    index: u32,
    count: u32,
}

impl TryFrom<Written> for Shard {
    type Error = anyhow::Error;

    fn try_from(Written { index, count }: Written) -> Result<Shard> {
        checked(index, count)
    }
}

impl Shard {
    /// Everything.
    pub(crate) const WHOLE: Shard = Shard { index: 0, count: 1 };

    /// The units of this shard, of so many in all. Neighbours go to different shards: they often cost alike.
    pub(crate) fn units(self, total: u64) -> impl Iterator<Item = u64> {
        (u64::from(self.index)..total).step_by(self.count as usize)
    }

    /// How many those are.
    pub(crate) fn unit_count(self, total: u64) -> u64 {
        total.saturating_sub(u64::from(self.index)).div_ceil(u64::from(self.count))
    }

    /// The name of the shard's folder.
    pub(crate) fn folder(self) -> String {
        format!("shard-{}-of-{}", self.index, self.count)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard {} of {}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Shard> {
        let how = "write the shard's number, from 0, and how many there are, as 2/4";
        let (index, count) = text.split_once('/').context(how)?;
        let index: u32 = index.trim().parse().context(how)?;
        let count: u32 = count.trim().parse().context(how)?;
        checked(index, count)
    }
}

fn checked(index: u32, count: u32) -> Result<Shard> {
    if count == 0 || SHARDS_MAX < count {
        bail!("there are 1 to {SHARDS_MAX} shards, not {count}");
    }
    if count <= index {
        bail!("there is no shard {index} of {count}; shards count from 0 to {}", count - 1);
    }
    Ok(Shard { index, count })
}

/// Which part of the units.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Shards")]
pub(crate) struct ShardArgs {
    /// Only shard I of N, counted from 0, of all units (seeds, workloads, points of a study, traces); it is
    /// written to DIR/shard-I-of-N below --out, goes on where it stopped when it is run again, and is put
    /// together with the others by `schedlab merge`
    #[arg(long, value_name = "I/N", conflicts_with = "shards")]
    shard: Option<Shard>,
    /// The same, of N shards, with the index from the environment variable JOB_COMPLETION_INDEX, as the pods
    /// of a Kubernetes Indexed Job have it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(SHARDS_MAX)))]
    shards: Option<u32>,
}

impl ShardArgs {
    /// The shard that was asked for, if any.
    pub(crate) fn shard(self) -> Result<Option<Shard>> {
        let Some(count) = self.shards else { return Ok(self.shard) };
        let said = std::env::var(JOB_INDEX).ok();
        index_of(said.as_deref(), count).map(Some)
    }
}

fn index_of(said: Option<&str>, count: u32) -> Result<Shard> {
    let how = || {
        format!(
            "--shards {count} takes the shard's number from {JOB_INDEX}, which is {}; run it as a pod of a \
             Job with completionMode Indexed, or give --shard I/{count}",
            said.map_or_else(|| "not set".to_owned(), |said| format!("{said:?}"))
        )
    };
    let index: u32 = said.with_context(how)?.parse().ok().with_context(how)?;
    checked(index, count).with_context(|| format!("{JOB_INDEX} does not go with --shards {count}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_read_or_refused() {
        assert_eq!("2/4".parse::<Shard>().expect("a shard"), Shard { index: 2, count: 4 });
        for (text, part) in [
            ("4", "as 2/4"),
            ("a/4", "as 2/4"),
            ("4/4", "there is no shard 4 of 4; shards count from 0 to 3"),
            ("0/0", "there are 1 to 100000 shards, not 0"),
        ] {
            let error = format!("{:#}", text.parse::<Shard>().expect_err(text));
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn indexed_job_gives_each_pod_its_shard() {
        assert_eq!(index_of(Some("3"), 4).expect("a shard"), Shard { index: 3, count: 4 });
        for (said, part) in [
            (None, "JOB_COMPLETION_INDEX, which is not set"),
            (Some("x"), "which is \"x\""),
            (Some("4"), "there is no shard 4 of 4"),
        ] {
            let error = format!("{:#}", index_of(said, 4).expect_err("no shard"));
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn every_unit_is_in_one_shard() {
        for total in [0, 1, 3, 10] {
            let mut units: Vec<u64> =
                (0..4).flat_map(|index| Shard { index, count: 4 }.units(total)).collect();
            units.sort_unstable();
            assert_eq!(units, (0..total).collect::<Vec<_>>());
        }
    }
}
