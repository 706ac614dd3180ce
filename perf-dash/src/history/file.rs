//! The file: appending under a lock, reading past damage.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use rustc_hash::FxHashMap;
use schedlab_workloads::files::{Appended, FileError};
use schedlab_workloads::results::is_file_name;

use super::model::{ProfileSummary, Record, SCHEMA};
use super::printable::{make_printable, printable};

/// The file in the history's directory.
pub const FILE_NAME: &str = "history.slh";

const HEADER: &[u8; 16] = b"schedlab-hist/1\n";
const MARKER: [u8; 4] = [0xF5, b'S', b'L', b'R'];
/// Any file may unpack to so much, as a trace may.
const UNPACKED_BYTES_MIN: u64 = 256 << 20;
/// A file that is larger may unpack to so many times its size: a thousand runs of three hundred
/// workloads are more than the above, packed ten to one.
const UNPACKED_PER_BYTE: u64 = 32;
/// Behind damage, so many times the file is summed in search of the next record. Real damage costs one.
const RESYNC_PER_BYTE: usize = 16;
/// Marker, length, checksum.
const FRAME_BYTES: usize = 12;

/// Why a history could not be used at all. Damage inside is a warning, not an error.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The system refused.
    #[error("{}: {what}: {cause}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// The system's answer.
        cause: io::Error,
    },
    /// The history could not be written.
    #[error(transparent)]
    Write(#[from] FileError),
    /// Not a history.
    #[error("{}: not a schedlab history: it does not begin with {:?}", path.display(), String::from_utf8_lossy(HEADER))]
    NotAHistory {
        /// The file.
        path: PathBuf,
    },
    /// A file that would fill memory when it is unpacked.
    #[error(
        "{}: its {file_bytes} bytes unpack to more than {unpacked_bytes_max}, which no history of measurements does; \
         take it from where it was recorded, or begin another with `--history DIR`",
        path.display()
    )]
    UnpacksTooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        file_bytes: u64,
        /// What it may unpack to.
        unpacked_bytes_max: u64,
    },
    /// A record that cannot be framed.
    #[error("the record has {bytes} bytes; a record holds at most {}", u32::MAX)]
    TooLarge {
        /// Compressed size.
        bytes: usize,
    },
}

/// What a history holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// By the time they were started; the same run recorded twice is here once, under its last label.
    /// No text of theirs has a control character: it may be printed.
    pub records: Vec<Record>,
    /// What was passed over and why.
    pub warnings: Vec<String>,
}

/// Appends a record, creating directory and file when missing. Waits while another process writes.
pub fn append(dir: &Path, record: &Record) -> Result<(), HistoryError> {
    let path = dir.join(FILE_NAME);
    let mut file = Appended::open(&path)?;
    let there = check_header(file.file(), &path)?;
    let mut bytes = HEADER[there..].to_vec();
    bytes.extend(framed(record)?);
    Ok(file.append(&bytes)?)
}

/// Reads all records that are whole.
pub fn read(dir: &Path) -> Result<History, HistoryError> {
    let path = dir.join(FILE_NAME);
    let mut file = File::open(&path)
        .map_err(failed(&path, "cannot open the history; `schedlab record --history DIR` makes one"))?;
    file.lock_shared().map_err(failed(&path, "cannot lock the history for reading"))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed(&path, "cannot read the history"))?;
    parse(&path, &bytes)
}

/// Reads the bytes of a history; `path` is for messages.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<History, HistoryError> {
    if bytes.len() < HEADER.len() && HEADER.starts_with(bytes) {
        return Ok(History::default());
    }
    if !bytes.starts_with(HEADER) {
        return Err(HistoryError::NotAHistory { path: path.to_owned() });
    }
    let mut history = scan(bytes, path)?;
    history.records = merged(history.records);
    // Stable: runs of the same second stay in the order they were recorded in.
    history.records.sort_by(|one, other| one.started_at.cmp(&other.started_at));
    Ok(history)
}

/// Each run once. What it is called and what belongs to it may have been recorded later, or anew.
fn merged(records: Vec<Record>) -> Vec<Record> {
    let mut places: FxHashMap<String, usize> = FxHashMap::default();
    let mut merged: Vec<Record> = Vec::with_capacity(records.len());
    for record in records {
        let Some(&at) = places.get(&record.id) else {
            places.insert(record.id.clone(), merged.len());
            merged.push(record);
            continue;
        };
        let earlier = &mut merged[at];
        earlier.label = record.label.or(earlier.label.take());
        earlier.instructions.extend(record.instructions);
        let is_new = |profile: &ProfileSummary| !earlier.profiles.contains(profile);
        let profiles: Vec<ProfileSummary> = record.profiles.into_iter().filter(is_new).collect();
        earlier.profiles.extend(profiles);
    }
    merged
}

fn failed(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> HistoryError {
    let path = path.to_owned();
    move |cause| HistoryError::Io { path, what, cause }
}

/// How much of the header is there: a crash may have come in its middle.
fn check_header(file: &mut File, path: &Path) -> Result<usize, HistoryError> {
    let mut header = Vec::with_capacity(HEADER.len());
    let read = file.take(HEADER.len() as u64).read_to_end(&mut header);
    read.map_err(failed(path, "cannot read the history"))?;
    if HEADER.starts_with(&header) {
        return Ok(header.len());
    }
    Err(HistoryError::NotAHistory { path: path.to_owned() })
}

fn framed(record: &Record) -> Result<Vec<u8>, HistoryError> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    serde_json::to_writer(&mut encoder, record)
        .expect("a record has only strings as keys and finite numbers");
    let payload = encoder.finish().expect("a vector takes all bytes");
    let length = u32::try_from(payload.len()).map_err(|_| HistoryError::TooLarge { bytes: payload.len() })?;
    let mut bytes = Vec::with_capacity(FRAME_BYTES + payload.len());
    bytes.extend(MARKER);
    bytes.extend(length.to_le_bytes());
    bytes.extend(crc32fast::hash(&payload).to_le_bytes());
    bytes.extend(payload);
    Ok(bytes)
}

/// What a file of so many bytes may unpack to. Measurements pack ten to one; zlib can pack a thousand
/// zeroes into one byte.
fn unpacked_bytes_max(file_bytes: u64) -> u64 {
    UNPACKED_BYTES_MIN.max(file_bytes.saturating_mul(UNPACKED_PER_BYTE))
}

fn scan(bytes: &[u8], path: &Path) -> Result<History, HistoryError> {
    let name = path.display();
    let mut history = History::default();
    let mut at = HEADER.len();
    let file_bytes = bytes.len() as u64;
    let mut unpacked_left = unpacked_bytes_max(file_bytes);
    let mut resync = Resync { checksum_bytes_left: bytes.len().saturating_mul(RESYNC_PER_BYTE) };
    while at < bytes.len() {
        let Some(payload) = whole_payload(&bytes[at..]) else {
            let next = resync.next_record(bytes, at + 1);
            history.warnings.push(format!(
                "{name}: bytes {at} to {next} are not a whole record (a torn write or damage) and are passed over"
            ));
            at = next;
            continue;
        };
        let text = match unpack(payload, unpacked_left) {
            Ok(text) if unpacked_left < text.len() as u64 => {
                let unpacked_bytes_max = unpacked_bytes_max(file_bytes);
                return Err(HistoryError::UnpacksTooLarge {
                    path: path.to_owned(),
                    file_bytes,
                    unpacked_bytes_max,
                });
            }
            other => other,
        };
        unpacked_left -= text.as_ref().map_or(0, |text| text.len() as u64);
        match text.and_then(|text| decode(&text)) {
            Ok(record) => history.records.push(record),
            Err(why) => {
                let why = printable(&why);
                history.warnings.push(format!("{name}: the record at byte {at} is passed over: {why}"))
            }
        }
        at += FRAME_BYTES + payload.len();
    }
    Ok(history)
}

/// The payload of the record at the start of `bytes`, when marker, length and checksum hold.
fn whole_payload(bytes: &[u8]) -> Option<&[u8]> {
    let frame = bytes.get(..FRAME_BYTES)?;
    let (marker, rest) = frame.split_at(MARKER.len());
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    let length = usize::try_from(word(&rest[..4])).ok()?;
    let payload = bytes.get(FRAME_BYTES..)?.get(..length)?;
    (marker == MARKER && crc32fast::hash(payload) == word(&rest[4..])).then_some(payload)
}

/// Looks for the next record behind damage. A file of nothing but markers with long lengths would
/// have every byte summed once a marker: hours for a few megabytes.
struct Resync {
    checksum_bytes_left: usize,
}

impl Resync {
    /// Where the next whole record begins, or the end; the end as well when looking has cost too much.
    fn next_record(&mut self, bytes: &[u8], from: usize) -> usize {
        let candidates = from..bytes.len();
        for at in candidates.filter(|&at| bytes[at..].starts_with(&MARKER)) {
            let Some(length) = claimed_length(&bytes[at..]) else { continue };
            let Some(left) = self.checksum_bytes_left.checked_sub(length) else { break };
            self.checksum_bytes_left = left;
            if whole_payload(&bytes[at..]).is_some() {
                return at;
            }
        }
        bytes.len()
    }
}

/// The length that a frame claims, when so many bytes follow.
fn claimed_length(bytes: &[u8]) -> Option<usize> {
    let length = bytes.get(MARKER.len()..MARKER.len() + 4)?;
    let length = usize::try_from(u32::from_le_bytes(length.try_into().ok()?)).ok()?;
    (FRAME_BYTES.checked_add(length)? <= bytes.len()).then_some(length)
}

/// At most one byte more than may be: by that the caller sees that there is too much.
fn unpack(payload: &[u8], bytes_max: u64) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let mut unpacked = ZlibDecoder::new(payload).take(bytes_max.saturating_add(1));
    unpacked.read_to_end(&mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

fn decode(text: &[u8]) -> Result<Record, String> {
    #[derive(serde::Deserialize)]
    struct Head {
        schema: String,
    }
    let head: Head = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if head.schema != SCHEMA {
        return Err(format!("its schema is {:?}, this version reads {SCHEMA:?}", head.schema));
    }
    let mut record: Record = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    // The id becomes part of file names of the site.
    if !is_file_name(&record.id) {
        let shown: String = record.id.chars().take(80).collect();
        return Err(format!("its id {shown:?} is not made of letters, digits, dots and dashes"));
    }
    make_printable(&mut record);
    Ok(record)
}
