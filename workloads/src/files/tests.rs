use std::fs;
use std::path::{Path, PathBuf};

use super::faults::{FileFault, at_every_step};
use super::*;

/// A folder of its own for a test, removed when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("schedlab-files-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("the temporary folder can be made");
        Folder(path)
    }

    fn twins(&self) -> usize {
        let entries = fs::read_dir(&self.0).expect("it is there").filter_map(Result::ok);
        entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(".tmp")).count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const OLD: &[u8] = b"{\"pods_per_s\": 100}";
const NEW: &[u8] = b"{\"pods_per_s\": 200, \"partial\": false}";

#[test]
fn fault_at_any_step_leaves_the_old_file_or_the_new_one() {
    for (name, durability) in [("synced", Durability::Synced), ("rebuildable", Durability::Rebuildable)] {
        let folder = Folder::new(name);
        let file = folder.0.join("result.json");
        let act = || {
            fs::write(&file, OLD).expect("the disk works");
            write(&file, NEW, durability)
        };
        let count = at_every_step(act, |case, fault, result| {
            let found = fs::read(&file).expect("it is there");
            assert!(found == OLD || found == NEW, "{name}, {case}: {}", String::from_utf8_lossy(&found));
            match result {
                Ok(()) => assert_eq!(found, NEW, "{name}, {case}"),
                Err(error) => {
                    let folder = folder.0.display().to_string();
                    assert!(error.to_string().starts_with(&folder), "{name}, {case}: {error}");
                }
            }
            if fault == FileFault::Crash {
                for entry in fs::read_dir(&folder.0).expect("it is there").filter_map(Result::ok) {
                    fs::remove_file(entry.path()).expect("the disk works");
                }
            }
            assert_eq!(folder.twins(), 0, "{name}, {case}: a twin was left behind");
        });
        let steps = if durability == Durability::Synced { 6 } else { 4 };
        assert!(FileFault::ALL.len() * steps <= count, "{name}: {count} faults");
    }
}

#[test]
fn fault_at_any_step_of_an_append_keeps_what_was_there() {
    let folder = Folder::new("append");
    let file = folder.0.join("history");
    let act = || {
        fs::write(&file, OLD).expect("the disk works");
        Appended::open(&file).and_then(|mut appended| appended.append(NEW))
    };
    let count = at_every_step(act, |case, fault, result| {
        let found = fs::read(&file).expect("it is there");
        assert!(found.starts_with(OLD), "{case}: {}", String::from_utf8_lossy(&found));
        let added = &found[OLD.len()..];
        match result {
            Ok(()) => assert_eq!(added, NEW, "{case}"),
            Err(error) => {
                assert!(error.to_string().starts_with(&folder.0.display().to_string()), "{case}: {error}");
                // Only who ends meanwhile, or cannot cut the file back, leaves a part.
                let is_whole = added.is_empty() || added == NEW;
                assert!(
                    is_whole || (fault == FileFault::Crash && NEW.starts_with(added)),
                    "{case}: {added:?}"
                );
            }
        }
    });
    assert!(FileFault::ALL.len() * 4 <= count, "{count} faults");
}

#[test]
fn copied_program_is_whole_and_can_be_run() {
    let folder = Folder::new("copy");
    let (from, to) = (folder.0.join("from"), folder.0.join("to"));
    fs::write(&from, NEW).expect("the disk works");
    let mut permissions = fs::metadata(&from).expect("it is there").permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&from, permissions).expect("it is ours");
    let act = || {
        let _ = fs::remove_file(&to);
        fs::write(&to, OLD).expect("the disk works");
        copy(&from, &to)
    };
    at_every_step(act, |case, _, result| {
        let found = fs::read(&to).expect("it is there");
        assert!(
            found == OLD || (found == NEW && fs::metadata(&to).unwrap().permissions().readonly()),
            "{case}"
        );
        assert!(found == NEW || result.is_err(), "{case}");
    });
}

#[test]
fn errors_say_which_file_and_what_failed() {
    let folder = Folder::new("errors");
    let file = folder.0.join("a-file");
    fs::write(&file, OLD).expect("the disk works");
    let below = file.join("result.json");
    let error = write(&below, NEW, Durability::Synced).expect_err("a file is no folder").to_string();
    assert!(error.starts_with(&format!("{}: cannot create the directory: ", file.display())), "{error}");
    let error = write(&folder.0, NEW, Durability::Synced).expect_err("a folder is no file").to_string();
    assert!(error.starts_with(&format!("{}: cannot write the file: ", folder.0.display())), "{error}");
}

#[test]
fn longest_file_names_can_be_written() {
    let folder = Folder::new("long");
    let file = folder.0.join("n".repeat(255));
    write(&file, NEW, Durability::Synced).expect("the file system takes names of 255 bytes");
    assert_eq!(fs::read(&file).expect("it is there"), NEW);
}

#[cfg(target_os = "linux")]
#[test]
fn devices_are_written_to_and_not_replaced() {
    write(Path::new("/dev/null"), NEW, Durability::Synced).expect("it takes everything");
    assert!(!fs::metadata("/dev/null").expect("it is there").is_file());
    let error = write(Path::new("/dev/full"), NEW, Durability::Synced).expect_err("it is full").to_string();
    assert!(error.starts_with("/dev/full: cannot write the file: No space left on device"), "{error}");
}
