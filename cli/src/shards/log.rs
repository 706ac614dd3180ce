//! The units of a shard, a line each, and the manifest that says that all are there.
//!
//! A line is written whole. What a killed process left of its last line is taken away when the shard goes
//! on; anything else that is wrong with a file is an error.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use schedlab_workloads::digest::Digest;
use schedlab_workloads::results::write_atomic;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Shard;
use crate::host;

const FORMAT: &str = "schedlab-shard/v1";
pub(super) const LOG: &str = "units.jsonl";
pub(super) const MANIFEST: &str = "manifest.json";
/// Far beyond the lines of a hundred million seeds.
const LOG_BYTES_MAX: u64 = 1 << 30;

/// What was asked for: shards are put together only where all of it agrees but the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Identity {
    format: String,
    pub(crate) command: String,
    version: String,
    /// The commit, of a build that knows it.
    revision: Option<String>,
    /// Every setting that decides what comes out.
    pub(crate) settings: BTreeMap<String, String>,
    /// Of all shards.
    pub(crate) unit_count: u64,
    pub(crate) shard: Shard,
}

/// What this binary was asked for.
pub(crate) fn identity(
    command: &str,
    settings: &[(&str, String)],
    unit_count: u64,
    shard: Shard,
) -> Identity {
    Identity {
        format: FORMAT.to_owned(),
        command: command.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        revision: host::git_revision(),
        settings: settings.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        unit_count,
        shard,
    }
}

impl Identity {
    /// The first thing in which two differ, leaving the index out.
    pub(super) fn difference(&self, other: &Identity) -> Option<String> {
        let pair = |name: &str, one: &str, two: &str| (one != two).then(|| format!("{name}: {one}, {two}"));
        let revision = |it: &Identity| it.revision.clone().unwrap_or_else(|| "unknown".to_owned());
        pair("format", &self.format, &other.format)
            .or_else(|| pair("command", &self.command, &other.command))
            .or_else(|| pair("version", &self.version, &other.version))
            .or_else(|| pair("revision", &revision(self), &revision(other)))
            .or_else(|| {
                let names = self.settings.keys().chain(other.settings.keys());
                let value = |it: &Identity, name| it.settings.get(name).cloned().unwrap_or_default();
                names.into_iter().find_map(|name| pair(name, &value(self, name), &value(other, name)))
            })
            .or_else(|| pair("units", &self.unit_count.to_string(), &other.unit_count.to_string()))
            .or_else(|| pair("shards", &self.shard.count.to_string(), &other.shard.count.to_string()))
    }
}

/// What a finished shard says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Manifest {
    pub(super) identity: Identity,
    /// The units of this shard.
    pub(super) units_done: u64,
    /// Of its log.
    pub(super) digest: String,
}

#[derive(Serialize, Deserialize)]
struct Line<T> {
    unit: u64,
    body: T,
}

/// The lines of units by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Units(pub(super) BTreeMap<u64, String>);

impl Units {
    /// What the units say, in their order.
    pub(crate) fn bodies<T: DeserializeOwned>(&self) -> Result<Vec<T>> {
        let body = |(unit, line): (&u64, &String)| {
            let read: Line<T> =
                serde_json::from_str(line).with_context(|| format!("unit {unit} cannot be read"))?;
            Ok(read.body)
        };
        self.0.iter().map(body).collect()
    }

    /// The log of these units.
    pub(super) fn text(&self, identity: &Identity) -> Result<String> {
        let mut text = serde_json::to_string(identity).context("could not write the shard's settings")?;
        text.push('\n');
        for line in self.0.values() {
            text.push_str(line);
            text.push('\n');
        }
        Ok(text)
    }
}

/// A shard that is being run.
pub(crate) struct UnitLog {
    dir: PathBuf,
    identity: Identity,
    file: File,
    units: Units,
}

impl UnitLog {
    /// Begins a shard in a folder, or goes on with it.
    pub(crate) fn open(out: &Path, identity: Identity) -> Result<UnitLog> {
        let dir = match identity.shard {
            Shard::WHOLE => out.to_owned(),
            shard => out.join(shard.folder()),
        };
        let how = || format!("cannot write to {}; choose another folder with --out", dir.display());
        fs::create_dir_all(&dir).with_context(how)?;
        let path = dir.join(LOG);
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).write(true).create(true).truncate(false).open(&path).with_context(how)?;
        // Where the file system has no locks, whoever starts two of a shard is on his own.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            bail!("{} is being written by another process", path.display());
        }
        let text = read_log(&mut file, &path)?;
        let (known, units, whole) = parse(&path, &text)?;
        let other = known.as_ref().filter(|known| **known != identity);
        if let Some(other) = other {
            let index = || format!("{}, {}", other.shard, identity.shard);
            let difference = other.difference(&identity).unwrap_or_else(index);
            bail!(
                "{} holds another shard ({difference}); choose another folder with --out, or delete it",
                dir.display()
            );
        }
        let mut log = UnitLog { dir: dir.clone(), identity, file, units };
        log.file.set_len(whole).with_context(how)?;
        log.file.seek(SeekFrom::End(0)).with_context(how)?;
        if known.is_none() {
            let head =
                serde_json::to_string(&log.identity).context("could not write the shard's settings")?;
            log.write_line(&head)?;
        }
        Ok(log)
    }

    /// The units that are still to be run, in their order.
    pub(crate) fn left(&self) -> Vec<u64> {
        let all = self.identity.shard.units(self.identity.unit_count);
        all.filter(|unit| !self.units.0.contains_key(unit)).collect()
    }

    /// The first unit that is still to be run, from this number on. A list of them would not fit into memory
    /// where the units are all the seeds there are.
    pub(crate) fn next_left(&self, from: u64) -> Option<u64> {
        let shard = self.identity.shard;
        let (index, count) = (u64::from(shard.index), u64::from(shard.count));
        let behind = from.saturating_sub(index).div_ceil(count);
        let first = behind.checked_mul(count)?.checked_add(index)?;
        let all = (first..self.identity.unit_count).step_by(usize::try_from(count).unwrap_or(usize::MAX));
        let mut left = all.filter(|unit| !self.units.0.contains_key(unit));
        left.next()
    }

    /// How many are still to be run.
    pub(crate) fn left_count(&self) -> u64 {
        self.identity.shard.unit_count(self.identity.unit_count).saturating_sub(self.done())
    }

    /// How many units are there.
    pub(crate) fn done(&self) -> u64 {
        self.units.0.len() as u64
    }

    /// The units that are there.
    pub(crate) fn units(&self) -> &Units {
        &self.units
    }

    /// Where they are kept.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Keeps what a unit came to.
    pub(crate) fn push(&mut self, unit: u64, body: &impl Serialize) -> Result<()> {
        let line = serde_json::to_string(&Line { unit, body }).context("could not write a unit as JSON")?;
        self.write_line(&line)?;
        self.units.0.insert(unit, line);
        Ok(())
    }

    /// All units are there: says so, and hands them out with the shard's folder.
    pub(crate) fn finish(self) -> Result<(PathBuf, Units)> {
        let path = self.dir.join(LOG);
        self.file.sync_all().with_context(|| format!("cannot write {}", path.display()))?;
        write_manifest(&self.dir, &self.identity, &self.units)?;
        Ok((self.dir, self.units))
    }

    fn write_line(&mut self, line: &str) -> Result<()> {
        let written = self.file.write_all(format!("{line}\n").as_bytes());
        written.with_context(|| {
            format!(
                "cannot write {}; run the same command again when it can be written, it goes on where it \
                 stopped",
                self.dir.join(LOG).display()
            )
        })
    }
}

pub(super) fn write_manifest(dir: &Path, identity: &Identity, units: &Units) -> Result<()> {
    let digest = Digest::of(&units.text(identity)?);
    let manifest = Manifest { identity: identity.clone(), units_done: units.0.len() as u64, digest };
    let mut text = serde_json::to_string_pretty(&manifest).context("could not write the manifest")?;
    text.push('\n');
    Ok(write_atomic(&dir.join(MANIFEST), text.as_bytes())?)
}

/// A log of a finished shard, or of one that was killed, without what it left of its last line.
pub(super) fn read(path: &Path) -> Result<(Option<Identity>, Units)> {
    let mut file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let text = read_log(&mut file, path)?;
    let (identity, units, _) = parse(path, &text)?;
    Ok((identity, units))
}

fn read_log(file: &mut File, path: &Path) -> Result<String> {
    let how = || format!("cannot read {}", path.display());
    let bytes = file.metadata().with_context(how)?.len();
    if LOG_BYTES_MAX < bytes {
        bail!("{} has {bytes} bytes; a log of units has at most {LOG_BYTES_MAX}", path.display());
    }
    let mut content = Vec::new();
    file.read_to_end(&mut content).with_context(how)?;
    // A torn line may end within a letter.
    let whole = content.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    content.truncate(whole);
    String::from_utf8(content).ok().with_context(|| format!("{} is not text", path.display()))
}

/// The head, the units, and how many bytes they take: behind them is at most a line that was torn.
fn parse(path: &Path, text: &str) -> Result<(Option<Identity>, Units, u64)> {
    let mut units = Units::default();
    let mut lines = text.lines();
    let Some(head) = lines.next() else { return Ok((None, units, 0)) };
    let damaged = |line: usize| {
        format!("{}: line {line} is damaged; delete the folder and run the shard again", path.display())
    };
    let identity: Identity = serde_json::from_str(head).with_context(|| damaged(1))?;
    for (at, line) in lines.enumerate() {
        let read: Line<serde::de::IgnoredAny> =
            serde_json::from_str(line).with_context(|| damaged(at + 2))?;
        let shard = identity.shard;
        let is_ours =
            read.unit < identity.unit_count && read.unit % u64::from(shard.count) == u64::from(shard.index);
        if !is_ours || units.0.insert(read.unit, line.to_owned()).is_some() {
            bail!("{}: unit {} is there twice or not of {shard}", path.display(), read.unit);
        }
    }
    Ok((Some(identity), units, text.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("schedlab-shards-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        path
    }

    fn sample(seeds: &str) -> Identity {
        identity("simulate", &[("seeds", seeds.to_owned())], 6, Shard { index: 1, count: 2 })
    }

    #[test]
    fn killed_shard_resumes_after_its_last_whole_line() {
        let out = folder("torn");
        let mut log = UnitLog::open(&out, sample("0..6")).expect("opens");
        assert_eq!(log.left(), [1, 3, 5]);
        log.push(1, &"one").expect("written");
        log.push(3, &"three").expect("written");
        drop(log);
        let path = out.join("shard-1-of-2").join(LOG);
        let whole = fs::read(&path).expect("a log");
        // Cut after every byte: what is left is never an error, and at most the last line is lost.
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).expect("cut");
            let mut log = UnitLog::open(&out, sample("0..6")).expect("goes on");
            for unit in log.left() {
                log.push(unit, &["", "one", "", "three", "", "five"][unit as usize]).expect("written");
            }
            let (_, units) = log.finish().expect("finished");
            assert_eq!(units.bodies::<String>().expect("texts"), ["one", "three", "five"], "{length} bytes");
        }
        fs::remove_dir_all(out).expect("removed");
    }

    #[test]
    fn units_that_are_left_are_found_one_by_one_in_any_number() {
        let out = folder("left");
        for (index, count, unit_count) in [(0, 1, 5), (1, 2, 6), (2, 3, 2), (3, 4, 21), (0, 4, 4)] {
            let shard = Shard { index, count };
            let mut log = UnitLog::open(
                &out.join(format!("{index}-{count}")),
                identity("simulate", &[], unit_count, shard),
            )
            .expect("opens");
            let walk = |log: &UnitLog| {
                let next = |from: &u64| log.next_left(from + 1);
                std::iter::successors(log.next_left(0), next).collect::<Vec<_>>()
            };
            assert_eq!(walk(&log), log.left(), "{shard}");
            if let Some(&unit) = log.left().get(1) {
                log.push(unit, &"done").expect("written");
            }
            assert_eq!((walk(&log), log.left_count()), (log.left(), log.left().len() as u64), "{shard}");
        }
        let all = identity("simulate", &[], u64::MAX, Shard { index: 1, count: 3 });
        let log = UnitLog::open(&out.join("all"), all).expect("opens");
        assert_eq!((log.next_left(0), log.next_left(2)), (Some(1), Some(4)));
        assert_eq!((log.next_left(u64::MAX), log.left_count()), (None, u64::MAX / 3));
        fs::remove_dir_all(out).expect("removed");
    }

    #[test]
    fn folder_with_a_shard_of_other_settings_is_refused() {
        let out = folder("other");
        drop(UnitLog::open(&out, sample("0..6")).expect("opens"));
        let error = UnitLog::open(&out, sample("0..7")).err().expect("refused").to_string();
        assert!(error.contains("holds another shard (seeds: 0..6, 0..7)"), "{error}");
        fs::remove_dir_all(out).expect("removed");
    }

    #[test]
    fn shard_is_written_by_one_process_at_a_time() {
        let out = folder("lock");
        let first = UnitLog::open(&out, sample("0..6")).expect("opens");
        let error = UnitLog::open(&out, sample("0..6")).err().expect("refused").to_string();
        assert!(error.contains("is being written by another process"), "{error}");
        drop(first);
        assert!(UnitLog::open(&out, sample("0..6")).is_ok());
        fs::remove_dir_all(out).expect("removed");
    }

    #[test]
    fn line_in_the_middle_that_is_damaged_is_named() {
        let out = folder("damaged");
        let mut log = UnitLog::open(&out, sample("0..6")).expect("opens");
        log.push(1, &"one").expect("written");
        drop(log);
        let path = out.join("shard-1-of-2").join(LOG);
        let text = fs::read_to_string(&path).expect("a log").replace("{\"unit\"", "{unit");
        fs::write(&path, text + "{\"unit\":3,\"body\":\"three\"}\n").expect("damaged");
        let error = format!("{:#}", UnitLog::open(&out, sample("0..6")).err().expect("refused"));
        assert!(error.contains("line 2 is damaged"), "{error}");
        fs::remove_dir_all(out).expect("removed");
    }
}
