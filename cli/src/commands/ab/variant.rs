//! What is held against what: flags of `run`, or builds of revisions.

use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Parser;
use schedlab_lab::ab::{Program, Variant};
use schedlab_lab::build::Build;

use crate::args::RunArgs;
use crate::commands::run;
use crate::progress::notice;
use crate::signals;

#[derive(Debug, Parser)]
#[command(no_binary_name = true, name = "--variant", args_override_self = true, disable_help_flag = true)]
struct VariantFlags {
    #[command(flatten)]
    run: RunArgs,
}

/// A variant and the name that no other may have.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) variant: Variant,
}

/// Reads `NAME: FLAGS`.
pub(super) fn of_flags(text: &str, all: &str) -> Result<Named> {
    let Some((name, flags)) = text.split_once(':') else {
        bail!(
            "--variant {text:?} has no name; write 'NAME: FLAGS', as 'cached: --class-cache on' or 'default:'"
        );
    };
    let name = name.trim().to_owned();
    if name.is_empty() {
        bail!("--variant {text:?}: the name before the colon is empty");
    }
    let plan = run::plan(&parse_flags(&name, &format!("{all} {flags}"))?)?;
    let described = format!("{name}: {}", flags.trim());
    Ok(Named { name, variant: Variant { described, program: Program::Here(Box::new(plan)) } })
}

/// Reads `REVISION` or `REVISION: FLAGS` and builds it. The flags are the revision's own to
/// understand: it may have others than this program.
pub(super) fn of_revision(text: &str, all: &str, work: &Path) -> Result<Named> {
    let (revision, flags) = text.split_once(':').unwrap_or((text, ""));
    let words = split_words(&format!("{all} {flags}")).with_context(|| format!("--rev {text:?}"))?;
    let build = Build::of_revision(revision.trim(), work).with_context(|| format!("--rev {text:?}"))?;
    let binary = build.schedlab(&notice, signals::flag())?;
    let flags = flags.trim().to_owned();
    let name = if flags.is_empty() { build.name } else { format!("{}: {flags}", build.name) };
    let program = Program::Built { binary, flags: words };
    Ok(Named { variant: Variant { described: name.clone(), program }, name })
}

/// Reads the flags of one variant: those of `schedlab run`, but for what is the same for all.
pub(crate) fn parse_flags(name: &str, flags: &str) -> Result<RunArgs> {
    let words = split_words(flags).with_context(|| format!("--variant {name:?}"))?;
    let parsed = VariantFlags::try_parse_from(&words)
        .map_err(|error| anyhow::anyhow!("--variant {name:?}: {}", error.to_string().trim_end()))?;
    refuse_shared(&parsed.run).with_context(|| format!("--variant {name:?}"))?;
    Ok(parsed.run)
}

/// What belongs to `ab` and not to one of its variants.
fn refuse_shared(run: &RunArgs) -> Result<()> {
    let plain = RunArgs::default();
    let taken = [
        (
            "--suite, --config, --filter or --labels",
            format!("{:?}", run.select) != format!("{:?}", plain.select),
        ),
        ("--repeat", run.repeat != plain.repeat),
        ("--out", run.out.is_some()),
        ("--json", run.json),
        ("--enforce-thresholds", run.enforce_thresholds),
        ("--metrics", run.metrics.is_some()),
    ];
    if let Some((flag, _)) = taken.iter().find(|(_, is_set)| *is_set) {
        bail!("{flag} is the same for all variants; give it to `schedlab ab` itself");
    }
    Ok(())
}

/// Words as a shell splits them: by white space, quotes keep it.
pub(crate) fn split_words(text: &str) -> Result<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), close) if open == close => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, space) if space.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if let Some(open) = quote {
        bail!("the quote {open} is not closed");
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        let cases: [(&str, &[&str]); 4] = [
            ("", &[]),
            ("  --a  b ", &["--a", "b"]),
            ("--a 'b c' \"d 'e\"", &["--a", "b c", "d 'e"]),
            ("x'y z'w ''", &["xy zw", ""]),
        ];
        for (text, wanted) in cases {
            assert_eq!(split_words(text).expect(text), wanted, "{text:?}");
        }
        assert!(split_words("'a").is_err());
    }

    #[test]
    fn a_variant_has_the_flags_of_run_and_its_own_win() {
        let seed_of = |named: &Named| match &named.variant.program {
            Program::Here(plan) => plan.settings.seed,
            Program::Built { .. } => panic!("flags run here"),
        };
        let of = |text| of_flags(text, "--seed 3").expect("valid");
        let cached = of("cached: --class-cache off --class-cache on");
        assert_eq!((cached.name.as_str(), seed_of(&cached)), ("cached", 3));
        assert_eq!(seed_of(&of("x: --seed 4")), 4);
        let refused = [
            ("--class-cache on", "has no name"),
            (": --seed 1", "the name before the colon is empty"),
            ("a: --sed 1", "unexpected argument '--sed'"),
            ("a: --repeat 3", "--repeat is the same for all variants"),
            ("a: --filter x", "give it to `schedlab ab` itself"),
        ];
        for (text, wanted) in refused {
            let message = format!("{:#}", of_flags(text, "").expect_err("refused"));
            assert!(message.contains(wanted), "{text:?}: {message}");
        }
    }
}
