//! `schedlab ab`: variants of a workload, interleaved in one run.
//!
//! The flags of a variant are those of `schedlab run`, parsed by the same definitions.

use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use clap::{Args, Parser};
use schedlab_perf_dash::compare::{Comparison, Metric, Pairing, Row};
use schedlab_perf_dash::stats::{ROUND, abba_order};
use schedlab_workloads::assemble::workload_results;
use schedlab_workloads::executor::{ConfigFile, Control, NoProgress};
use schedlab_workloads::lab_plugins;
use schedlab_workloads::resolve::{ResolvedWorkload, SUPPORTED_OPCODES, runnable};
use schedlab_workloads::results::{Stage, Status, WorkloadResult};

use super::compare::FenceArgs;
use super::verdicts::{OutputArgs, present};
use super::{run, select};
use crate::Exit;
use crate::args::{RunArgs, SelectArgs};
use crate::progress::complain;

/// What to interleave.
#[derive(Clone, Debug, Args)]
pub(crate) struct AbArgs {
    /// A variant as 'NAME: FLAGS', with the flags of `schedlab run`; the first one is the base of
    /// every ratio. At least two
    #[arg(long = "variant", value_name = "NAME: FLAGS", required = true)]
    variants: Vec<String>,
    /// Flags that all variants have, before their own
    #[arg(long, value_name = "FLAGS", default_value = "", allow_hyphen_values = true)]
    all: String,
    #[command(flatten)]
    select: SelectArgs,
    /// Rounds; in a round every variant runs twice, there and back (A B B A)
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Runs of each variant before the first round that are not counted
    #[arg(long, value_name = "N", default_value_t = 2)]
    warm_up: u32,
    /// Seed of the order and of the bootstrap
    #[arg(long, value_name = "N", default_value_t = 0)]
    order_seed: u64,
    #[command(flatten)]
    fence: FenceArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Parser)]
#[command(no_binary_name = true, name = "--variant", args_override_self = true, disable_help_flag = true)]
struct VariantFlags {
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Debug)]
struct Variant {
    name: String,
    flags: String,
    args: RunArgs,
}

/// What the runs of one variant measured, in the order they ran.
#[derive(Clone, Debug, Default)]
struct Samples {
    throughput: Vec<f64>,
    cycle_mean_us: Vec<f64>,
    end_to_end_p99_us: Vec<f64>,
    /// Pods bound in each run: the same for all, or the times do not count.
    scheduled: Vec<u64>,
    trouble: Option<String>,
}

pub(crate) fn ab(args: &AbArgs) -> Result<Exit> {
    let variants = args.variants.iter().map(|text| variant(text, &args.all)).collect::<Result<Vec<_>>>()?;
    if variants.len() < 2 {
        bail!("one variant has nothing to be compared with; give --variant twice or more");
    }
    if let Some(twin) =
        variants.iter().enumerate().find(|(at, v)| variants[..*at].iter().any(|w| w.name == v.name))
    {
        bail!("two variants are called {:?}; their names must differ", twin.1.name);
    }
    let fences = args.fence.fences()?;
    let interrupt = run::listen_for_interrupt();
    let mut rows: Vec<Vec<Row>> = vec![Vec::new(); variants.len()];
    for selected in select::workloads(&args.select, Some(run::DEFAULT_LABELS))? {
        let workload = selected.workload?;
        if let Err(reason) = runnable(&workload, SUPPORTED_OPCODES) {
            complain(&format!("schedlab: {} is skipped: {reason}", workload.full_name));
            continue;
        }
        let samples = measure(args, &variants, &workload, &interrupt)?;
        let fence = fences.of(&workload.full_name);
        for (head, rows) in samples.iter().zip(&mut rows).skip(1) {
            rows.extend(rows_of(&workload.full_name, &samples[0], head, fence, args.order_seed));
        }
        if interrupt.load(std::sync::atomic::Ordering::Relaxed) {
            break;
        }
    }
    if rows[1].is_empty() {
        bail!("no workload could run; `schedlab list` with the same --suite or --config shows why");
    }
    let described = |variant: &Variant| format!("{}: {}", variant.name, variant.flags.trim());
    let comparisons: Vec<Comparison> = variants
        .iter()
        .zip(rows)
        .skip(1)
        .map(|(head, rows)| {
            let mut comparison =
                Comparison::new("schedlab ab", &described(&variants[0]), &described(head), rows);
            comparison.notes.push(format!(
                "interleaved in one process: up to {} rounds of {ROUND} runs a variant, order from seed {}, {} warm-up run(s)",
                args.rounds, args.order_seed, args.warm_up
            ));
            comparison
        })
        .collect();
    present(&comparisons, &args.output)
}

/// Reads `NAME: FLAGS`.
fn variant(text: &str, all: &str) -> Result<Variant> {
    let Some((name, flags)) = text.split_once(':') else {
        bail!(
            "--variant {text:?} has no name; write 'NAME: FLAGS', as 'cached: --class-cache on' or 'default:'"
        );
    };
    let name = name.trim().to_owned();
    if name.is_empty() {
        bail!("--variant {text:?}: the name before the colon is empty");
    }
    let args = parse_flags(&name, &format!("{all} {flags}"))?;
    Ok(Variant { name, flags: flags.trim().to_owned(), args })
}

/// Reads the flags of one variant: those of `schedlab run`, but for what is the same for all.
pub(super) fn parse_flags(name: &str, flags: &str) -> Result<RunArgs> {
    let words = split_words(flags).with_context(|| format!("--variant {name:?}"))?;
    let parsed = VariantFlags::try_parse_from(&words)
        .map_err(|error| anyhow::anyhow!("--variant {name:?}: {}", error.to_string().trim_end()))?;
    let plain = RunArgs::default();
    let taken = [
        (
            "--suite, --config, --filter or --labels",
            format!("{:?}", parsed.run.select) != format!("{:?}", plain.select),
        ),
        ("--repeat", parsed.run.repeat != plain.repeat),
        ("--out", parsed.run.out.is_some()),
        ("--json", parsed.run.json),
        ("--enforce-thresholds", parsed.run.enforce_thresholds),
        ("--metrics", parsed.run.metrics.is_some()),
    ];
    if let Some((flag, _)) = taken.iter().find(|(_, is_set)| *is_set) {
        bail!("--variant {name:?}: {flag} is the same for all variants; give it to `schedlab ab` itself");
    }
    Ok(parsed.run)
}

/// Words as a shell splits them: by white space, quotes keep it.
fn split_words(text: &str) -> Result<Vec<String>> {
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

fn measure(
    args: &AbArgs,
    variants: &[Variant],
    workload: &ResolvedWorkload,
    interrupt: &AtomicBool,
) -> Result<Vec<Samples>> {
    let registry = lab_plugins::registry();
    let control =
        Control { interrupt, progress: &NoProgress, registry: &registry, config_file: ConfigFile::Fixed };
    let mut samples = vec![Samples::default(); variants.len()];
    for _ in 0..args.warm_up {
        for variant in variants {
            run::run_once(&variant.args, workload, control)?;
        }
    }
    for round in abba_order(variants.len(), args.rounds as usize, args.order_seed) {
        for at in round {
            let outcome = run::run_once(&variants[at].args, workload, control)?;
            if interrupt.load(std::sync::atomic::Ordering::Relaxed) {
                return Ok(samples);
            }
            let settings = run::settings(&variants[at].args);
            let results = workload_results(workload, &workload.feature_gates, settings, &[outcome], None);
            // The last measured part: earlier ones, where a workload has several, set the stage.
            if let Some(result) = results.last() {
                samples[at].take(result);
            }
        }
    }
    Ok(samples)
}

impl Samples {
    fn take(&mut self, result: &WorkloadResult) {
        self.throughput.push(result.throughput.total);
        self.scheduled.push(result.pods.scheduled);
        if let Some(latency) = result.latency_us.get(&Stage::SchedulingCycle) {
            self.cycle_mean_us.push(latency.mean);
        }
        if let Some(latency) = result.latency_us.get(&Stage::EndToEnd) {
            self.end_to_end_p99_us.push(latency.p99);
        }
        if result.status != Status::Completed {
            self.trouble = result.message.clone();
        }
    }
}

fn rows_of(
    workload: &str,
    base: &Samples,
    head: &Samples,
    fence: schedlab_perf_dash::stats::Fence,
    seed: u64,
) -> Vec<Row> {
    let row = |metric, base: &[f64], head: &[f64]| {
        Row::from_samples(workload, metric, (base, head), Pairing::Rounds, fence, seed)
    };
    let mut throughput = row(Metric::throughput(), &base.throughput, &head.throughput);
    let (mut counts, trouble) =
        (base.scheduled.iter().chain(&head.scheduled), base.trouble.as_ref().or(head.trouble.as_ref()));
    let first = counts.next().copied();
    if let Some(trouble) = trouble {
        throughput = throughput.not_comparable(format!("not comparable: {trouble}"));
    } else if let Some(other) = counts.find(|count| Some(**count) != first) {
        let first = first.unwrap_or(0);
        throughput = throughput.not_comparable(format!(
            "not comparable: {first} pods were bound in one run and {other} in another"
        ));
    }
    let mut rows = vec![throughput];
    let latencies = [
        ("cycle mean", &base.cycle_mean_us, &head.cycle_mean_us),
        ("end to end p99", &base.end_to_end_p99_us, &head.end_to_end_p99_us),
    ];
    for (name, base, head) in latencies {
        if !base.is_empty() && !head.is_empty() {
            rows.push(row(Metric::cost(name, "µs"), base, head).shown());
        }
    }
    rows
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
        let cached = variant("cached: --class-cache off --class-cache on", "--seed 3").expect("valid");
        assert_eq!((cached.name.as_str(), cached.args.seed), ("cached", 3));
        assert_eq!(variant("x: --seed 4", "--seed 3").expect("valid").args.seed, 4);
        let refused = [
            ("--class-cache on", "has no name"),
            (": --seed 1", "the name before the colon is empty"),
            ("a: --sed 1", "unexpected argument '--sed'"),
            ("a: --repeat 3", "--repeat is the same for all variants"),
            ("a: --filter x", "give it to `schedlab ab` itself"),
        ];
        for (text, wanted) in refused {
            let message = format!("{:#}", variant(text, "").expect_err("refused"));
            assert!(message.contains(wanted), "{text:?}: {message}");
        }
    }
}
