//! Holds `docs/kep-coverage.md` and the tests together.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in a workspace").to_owned()
}

/// A test by the file it stands in, relative to the workspace, and its name.
type TestName = (PathBuf, String);

const SCENARIOS: &str = "cluster/tests/it/scenarios";

/// `requeue::fit::name` under the scenarios, or `core/src/file.rs::name`.
fn named(text: &str) -> Option<TestName> {
    let (place, name) = text.rsplit_once("::")?;
    if place.ends_with(".rs") {
        return Some((PathBuf::from(place), name.to_owned()));
    }
    let module = Path::new(SCENARIOS).join(place.replace("::", "/"));
    let file = module.with_extension("rs");
    let file = if workspace().join(&file).exists() { file } else { module.join("mod.rs") };
    Some((file, name.to_owned()))
}

/// Every test that the page names.
fn named_on_the_page() -> BTreeSet<TestName> {
    let page = fs::read_to_string(workspace().join("docs/kep-coverage.md")).expect("the page is there");
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let quoted =
        rows.flat_map(|row| row.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>());
    quoted.filter_map(|text| named(&text)).collect()
}

/// The functions marked `#[test]` in a file.
fn tests_in(file: &Path) -> BTreeSet<String> {
    let source = fs::read_to_string(workspace().join(file)).unwrap_or_default();
    let mut lines = source.lines().map(str::trim);
    let mut names = BTreeSet::new();
    while let Some(line) = lines.next() {
        if line == "#[test]" {
            let head = lines.find(|line| line.starts_with("fn ")).expect("a test is a function");
            names.insert(head["fn ".len()..].split('(').next().unwrap_or_default().to_owned());
        }
    }
    names
}

/// Every scenario there is.
fn scenarios_in(folder: &Path, into: &mut BTreeSet<TestName>) {
    for entry in fs::read_dir(workspace().join(folder)).expect("a folder of tests") {
        let name = entry.expect("can be read").file_name();
        let path = folder.join(&name);
        if workspace().join(&path).is_dir() {
            scenarios_in(&path, into);
        } else {
            into.extend(tests_in(&path).into_iter().map(|test| (path.clone(), test)));
        }
    }
}

#[test]
fn every_named_test_exists_and_every_scenario_is_named() {
    let page = named_on_the_page();
    let missing: Vec<&TestName> = page.iter().filter(|(file, test)| !tests_in(file).contains(test)).collect();
    assert!(missing.is_empty(), "docs/kep-coverage.md names tests that do not exist: {missing:#?}");
    let mut scenarios = BTreeSet::new();
    scenarios_in(Path::new(SCENARIOS), &mut scenarios);
    assert!(scenarios.len() > 70, "the scenarios are found: {}", scenarios.len());
    let unnamed: Vec<&TestName> =
        scenarios.difference(&page).filter(|(file, _)| !file.ends_with("coverage.rs")).collect();
    assert!(unnamed.is_empty(), "add these tests to docs/kep-coverage.md: {unnamed:#?}");
}
