//! What built-in experiments quote, held against the proposals.

use std::fs;
use std::path::Path;

use schedlab_workloads::suites;

/// Words with one space between them, without the marks of Markdown.
fn words(text: &str) -> String {
    let plain: String = text.chars().filter(|letter| !matches!(letter, '`' | '*')).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn quotes_are_the_words_of_the_proposals() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/keps");
    let Ok(listing) = fs::read_dir(&folder) else {
        eprintln!("skipped: the proposals are not on this machine");
        return;
    };
    let files: Vec<(String, String)> = listing
        .map(|entry| {
            let path = entry.expect("readable").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, words(&String::from_utf8_lossy(&fs::read(&path).expect("readable"))))
        })
        .collect();
    for name in suites::EXPERIMENTS {
        let experiment = suites::experiment(name).expect(name);
        let own = |file: &&(String, String)| file.0.starts_with(&experiment.proposal);
        let notes = |file: &&(String, String)| file.0.contains("notes");
        let (file, text) = files.iter().find(own).or_else(|| files.iter().find(notes)).expect("its text");
        for claim in &experiment.claims {
            assert!(text.contains(&words(&claim.quote)), "{name}: not in {file}: {:?}", claim.quote);
        }
    }
}
