//! Everything that schedlab writes goes through here: a reader, also one after a crash, finds the old
//! file or the new one, never a part of it, and an error names the file.
//!
//! ```text
//! write    create folders ─▶ create twin ─▶ write ─▶ sync ─▶ rename over the file ─▶ sync folder
//!             │ any step fails: remove the twin, the file is as it was (after the rename: new)
//! append   create folders ─▶ open ─▶ lock ─▶ write at the end ─▶ sync
//!             │ any step fails: cut the file back to where it was
//! ```
//!
//! The twin stands in the file's own folder, because a rename does not cross file systems. A file that
//! can be made again at any time need not be synced: it may be empty after a power failure.
//!
//! [`faults`] lets each step fail in tests: a short write, a full disk, a broken one, a rename that is
//! done although it says that it failed, a crash.

#[cfg(any(test, feature = "faults"))]
pub mod faults;
#[cfg(not(any(test, feature = "faults")))]
mod faults {
    //! Without faults every step is what the system makes of it.
    use std::io;

    #[inline]
    pub(super) fn before(_: super::FileStep) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    pub(super) fn after(_: super::FileStep) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    pub(super) fn length(wanted: usize) -> io::Result<usize> {
        Ok(wanted)
    }
}

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A step at which writing can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileStep {
    /// Missing folders are made.
    CreateFolder,
    /// A twin, or a file that is appended to, is opened.
    Open,
    /// Bytes go to the file.
    Write,
    /// The file goes to the disk.
    Sync,
    /// The twin takes the file's place.
    Rename,
    /// The folder goes to the disk.
    SyncFolder,
    /// A twin that is of no use is removed, or a file is cut back.
    Undo,
}

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot {}: {cause}", path.display(), what(*step))]
pub struct FileError {
    /// The file, not its twin; for [`FileStep::CreateFolder`] the folder.
    pub path: PathBuf,
    /// What failed.
    pub step: FileStep,
    /// The system's answer.
    pub cause: io::Error,
}

fn what(step: FileStep) -> &'static str {
    match step {
        FileStep::CreateFolder => "create the directory",
        FileStep::Open | FileStep::Write | FileStep::Rename | FileStep::Undo => "write the file",
        FileStep::Sync | FileStep::SyncFolder => "write the file to the disk",
    }
}

/// Whether a file must survive a power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It says what cannot be measured again.
    Synced,
    /// It can be made again at any time.
    Rebuildable,
}

/// Writes a file, whole or not at all. Makes missing folders.
pub fn write(path: &Path, content: &[u8], durability: Durability) -> Result<(), FileError> {
    write_with(path, durability, |file| file.write_all(content))
}

/// Copies a file with its permissions, whole or not at all.
pub fn copy(from: &Path, to: &Path) -> Result<(), FileError> {
    let unread = |cause| FileError { path: from.to_owned(), step: FileStep::Open, cause };
    let mut content = Vec::new();
    let mut source = File::open(from).map_err(unread)?;
    let permissions = source.metadata().map_err(unread)?.permissions();
    source.read_to_end(&mut content).map_err(unread)?;
    write_with(to, Durability::Synced, |file| {
        file.set_permissions(permissions.clone())?;
        file.write_all(&content)
    })
}

fn write_with(
    path: &Path,
    durability: Durability,
    fill: impl FnOnce(&mut Stepwise<'_>) -> io::Result<()>,
) -> Result<(), FileError> {
    create_folder_of(path)?;
    // A device or a pipe has no content to keep, and must not be replaced by a file.
    if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        let failed = |step| failed(path, step);
        let mut file = stepped(FileStep::Open, || OpenOptions::new().write(true).open(path))
            .map_err(failed(FileStep::Open))?;
        return fill(&mut Stepwise(&mut file)).map_err(failed(FileStep::Write));
    }
    let twin = twin_of(path);
    let replaced = replace(path, &twin, durability, fill);
    if replaced.as_ref().is_err_and(|error| error.step != FileStep::SyncFolder) {
        // The first error is the one to report; the twin may not even exist.
        let _ = stepped(FileStep::Undo, || fs::remove_file(&twin));
    }
    replaced
}

fn replace(
    path: &Path,
    twin: &Path,
    durability: Durability,
    fill: impl FnOnce(&mut Stepwise<'_>) -> io::Result<()>,
) -> Result<(), FileError> {
    let failed = |step| failed(path, step);
    let mut file = stepped(FileStep::Open, || OpenOptions::new().write(true).create_new(true).open(twin))
        .map_err(failed(FileStep::Open))?;
    fill(&mut Stepwise(&mut file)).map_err(failed(FileStep::Write))?;
    if durability == Durability::Synced {
        stepped(FileStep::Sync, || file.sync_all()).map_err(failed(FileStep::Sync))?;
    }
    drop(file);
    stepped(FileStep::Rename, || fs::rename(twin, path)).map_err(failed(FileStep::Rename))?;
    if durability == Durability::Synced {
        stepped(FileStep::SyncFolder, || sync_folder(folder_of(path)))
            .map_err(failed(FileStep::SyncFolder))?;
    }
    Ok(())
}

/// A file that records are appended to, locked for as long as this lives.
#[derive(Debug)]
pub struct Appended {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Appended {
    /// Opens or makes a file and waits until nobody else has it locked.
    pub fn open(path: &Path) -> Result<Appended, FileError> {
        create_folder_of(path)?;
        let open = || OpenOptions::new().read(true).append(true).create(true).open(path);
        let file = stepped(FileStep::Open, open).map_err(failed(path, FileStep::Open))?;
        file.lock().map_err(failed(path, FileStep::Open))?;
        let length = file.metadata().map_err(failed(path, FileStep::Open))?.len();
        Ok(Appended { path: path.to_owned(), file, length })
    }

    /// Its length; 0 for one that was just made.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// For reading what is there already.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Appends bytes, all or none of them unless the process or the machine ends meanwhile: then a
    /// reader finds the first part of them at the end of the file.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        let written = Stepwise(&mut self.file)
            .write_all(bytes)
            .map_err(failed(&self.path, FileStep::Write))
            .and_then(|()| {
                stepped(FileStep::Sync, || self.file.sync_data()).map_err(failed(&self.path, FileStep::Sync))
            });
        match written {
            Ok(()) => self.length += bytes.len() as u64,
            // Readers pass over a part of a record; taking it back is only tidier.
            Err(_) => {
                let _ = stepped(FileStep::Undo, || self.file.set_len(self.length));
            }
        }
        written
    }
}

/// A file whose every write is a step.
struct Stepwise<'a>(&'a mut File);

impl Stepwise<'_> {
    fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        self.0.set_permissions(permissions)
    }
}

impl Write for Stepwise<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = faults::length(bytes.len())?;
        self.0.write(&bytes[..length])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn stepped<T>(step: FileStep, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    faults::before(step)?;
    let done = act()?;
    faults::after(step)?;
    Ok(done)
}

fn failed(path: &Path, step: FileStep) -> impl FnOnce(io::Error) -> FileError {
    let path = path.to_owned();
    move |cause| FileError { path, step, cause }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn create_folder_of(path: &Path) -> Result<(), FileError> {
    let folder = folder_of(path);
    stepped(FileStep::CreateFolder, || fs::create_dir_all(folder))
        .map_err(failed(folder, FileStep::CreateFolder))
}

/// A name that no other write has, in this process or another, and that is short: the file's own may be
/// as long as names can be.
fn twin_of(path: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    folder_of(path).join(format!(".schedlab-{}-{count}.tmp", std::process::id()))
}

/// Where folders cannot be opened, renames are on the disk when the system says so.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests;
