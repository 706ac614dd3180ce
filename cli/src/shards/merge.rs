//! Shards found in folders, checked against each other, and put together.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use schedlab_workloads::digest::Digest;
use schedlab_workloads::results::write_atomic;

use super::log::{self, Identity, LOG, MANIFEST, Manifest, Units};
use super::{Shard, log::write_manifest};

/// All units of what was asked for.
pub(crate) struct Merged {
    /// Of the whole.
    pub(crate) identity: Identity,
    /// Of all shards.
    pub(crate) units: Units,
    /// How many they were put together from.
    pub(crate) shard_count: u32,
}

impl Merged {
    /// Writes what a run of all units by one process leaves beside its result.
    pub(crate) fn write(&self, out: &Path) -> Result<()> {
        write_atomic(&out.join(LOG), self.units.text(&self.identity)?.as_bytes())?;
        write_manifest(out, &self.identity, &self.units)
    }
}

/// A finished shard and where it was found.
struct Found {
    dir: PathBuf,
    identity: Identity,
    units: Units,
}

/// Reads the shards in these folders, or right below them, and puts them together.
pub(crate) fn gather(folders: &[PathBuf]) -> Result<Merged> {
    let mut found: Vec<Found> = Vec::new();
    for folder in folders {
        for dir in shard_folders(folder)? {
            found.push(read_shard(dir)?);
        }
    }
    let Some(first) = found.first() else { bail!("no folder was given") };
    let mut identity = first.identity.clone();
    let mut by_index: BTreeMap<u32, &Found> = BTreeMap::new();
    for shard in &found {
        if let Some(difference) = first.identity.difference(&shard.identity) {
            bail!(
                "{} and {} do not belong together ({difference})",
                first.dir.display(),
                shard.dir.display()
            );
        }
        if let Some(other) = by_index.insert(shard.identity.shard.index, shard) {
            bail!(
                "{} is given twice: {} and {}",
                shard.identity.shard,
                other.dir.display(),
                shard.dir.display()
            );
        }
    }
    let count = identity.shard.count;
    let missing: Vec<u32> = (0..count).filter(|index| !by_index.contains_key(index)).collect();
    if !missing.is_empty() {
        bail!(
            "of {count} shards, {} {} missing; given: {}",
            named(&missing),
            if missing.len() == 1 { "is" } else { "are" },
            named(&by_index.keys().copied().collect::<Vec<_>>())
        );
    }
    identity.shard = Shard::WHOLE;
    let units = found.into_iter().flat_map(|shard| shard.units.0).collect();
    Ok(Merged { identity, units: Units(units), shard_count: count })
}

/// Shards by their numbers, the first few of them.
fn named(indexes: &[u32]) -> String {
    const NAMED_MAX: usize = 20;
    let names: Vec<String> = indexes.iter().take(NAMED_MAX).map(u32::to_string).collect();
    match indexes.len().saturating_sub(NAMED_MAX) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// The folder itself, or those of shards below it.
fn shard_folders(folder: &Path) -> Result<Vec<PathBuf>> {
    if folder.join(MANIFEST).exists() || folder.join(LOG).exists() {
        return Ok(vec![folder.to_owned()]);
    }
    let how = || format!("cannot read {}", folder.display());
    let mut below = Vec::new();
    for entry in fs::read_dir(folder).with_context(how)? {
        let path = entry.with_context(how)?.path();
        let is_shard = path.file_name().and_then(|name| name.to_str()).is_some_and(is_shard_folder);
        if is_shard && path.is_dir() {
            below.push(path);
        }
    }
    if below.is_empty() {
        bail!("{} holds no shard: neither {MANIFEST} nor folders such as shard-0-of-4", folder.display());
    }
    below.sort();
    Ok(below)
}

fn is_shard_folder(name: &str) -> bool {
    let numbers = name.strip_prefix("shard-").and_then(|rest| rest.split_once("-of-"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(index, count)| is_number(index) && is_number(count))
}

fn read_shard(dir: PathBuf) -> Result<Found> {
    let (head, units) = log::read(&dir.join(LOG))?;
    let Some(identity) = head else { bail!("{} was begun and holds nothing yet", dir.display()) };
    let path = dir.join(MANIFEST);
    if !path.exists() {
        let total = identity.shard.unit_count(identity.unit_count);
        bail!(
            "{} in {} is not finished, {} of {total} units are done; run its command again, it goes on where \
             it stopped",
            identity.shard,
            dir.display(),
            units.0.len()
        );
    }
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let manifest: Manifest = serde_json::from_slice(&text)
        .with_context(|| format!("{} is no manifest of a shard", path.display()))?;
    let digest = Digest::of(&units.text(&identity)?);
    let total = identity.shard.unit_count(identity.unit_count);
    let is_whole = manifest.units_done == total && units.0.len() as u64 == total;
    if manifest.identity != identity || manifest.digest != digest || !is_whole {
        bail!(
            "{}: {LOG} and {MANIFEST} do not agree (digest {digest}, in the manifest {}); run the shard again \
             in an empty folder",
            dir.display(),
            manifest.digest
        );
    }
    Ok(Found { dir, identity, units })
}
