//! What a CPU profile says about plugins, extension points and parts of the engine.
//!
//! A stack is a list of function names, outermost first. A sample belongs to the innermost frame
//! that is ours: what the standard library or the allocator does, it does for its caller.

use std::collections::{BTreeMap, BTreeSet};

use crate::history::Share;

/// Kinds of parts, as [`Share::kind`] has them.
pub const KINDS: [&str; 3] = ["extension point", "plugin", "part"];

/// Name of the part that no frame of ours belongs to.
pub const UNKNOWN: &str = "not ours (start of threads, system)";

/// Shares of every part of every kind, the largest total first within a kind.
#[must_use]
pub fn shares(stacks: &BTreeMap<Vec<String>, u64>) -> Vec<Share> {
    let mut found: BTreeMap<(usize, String), (u64, u64)> = BTreeMap::new();
    for (stack, &count) in stacks {
        for (kind, classify) in [extension_point, plugin, part].into_iter().enumerate() {
            let names: Vec<String> = stack.iter().filter_map(|frame| classify(frame)).collect();
            let innermost = names.last().cloned();
            // Every sample has a part, so that the parts add up to the whole.
            let innermost = innermost.or_else(|| (KINDS[kind] == "part").then(|| UNKNOWN.to_owned()));
            let everywhere: BTreeSet<String> = names.into_iter().chain(innermost.clone()).collect();
            for name in everywhere {
                found.entry((kind, name)).or_default().1 += count;
            }
            if let Some(name) = innermost {
                found.entry((kind, name)).or_default().0 += count;
            }
        }
    }
    let share = |((kind, name), (self_samples, total_samples)): ((usize, String), (u64, u64))| {
        (kind, Share { kind: KINDS[kind].to_owned(), name, self_samples, total_samples })
    };
    let mut shares: Vec<(usize, Share)> = found.into_iter().map(share).collect();
    shares.sort_by(|(one_kind, one), (other_kind, other)| {
        (one_kind, std::cmp::Reverse(one.total_samples), &one.name).cmp(&(
            other_kind,
            std::cmp::Reverse(other.total_samples),
            &other.name,
        ))
    });
    shares.into_iter().map(|(_, share)| share).collect()
}

/// A frame's name with its module and without what would hide it: the hash of the build and type
/// parameters, which name modules the code is not in. An inlined function comes without its module;
/// the file it is from says it.
#[must_use]
pub fn frame_name(name: &str, file: &str) -> String {
    let name = match name.rsplit_once("::h") {
        Some((front, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => front,
        _ => name,
    };
    let plain = without_parameters(&without_crate_hashes(name)).replace("::::", "::");
    if plain.starts_with('<') || plain.contains("schedlab") {
        return plain;
    }
    match module_of(file) {
        Some(module) => format!("{module}::{plain}"),
        None => plain,
    }
}

/// `std::thread` of `std[e28293b1aa0f68bd]::thread`.
fn without_crate_hashes(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find('[') {
        let hash = rest[at + 1..].split(']').next().unwrap_or_default();
        let is_hash = 8 <= hash.len() && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        let after = if is_hash { at + 1 + hash.len() + 1 } else { at + 1 };
        plain.push_str(&rest[..if is_hash { at } else { after }]);
        rest = &rest[after.min(rest.len())..];
    }
    plain + rest
}

/// Without `<...>`, but for a leading one, which is the type a method belongs to.
fn without_parameters(name: &str) -> String {
    let (mut plain, mut depth, mut is_leading) = (String::new(), 0_u32, name.starts_with('<'));
    let mut last = ' ';
    for letter in name.chars() {
        let is_arrow = letter == '>' && last == '-';
        last = letter;
        if letter == '<' {
            depth += 1;
        }
        if depth == 0 || is_leading {
            plain.push(letter);
        }
        if letter == '>' && !is_arrow {
            depth = depth.saturating_sub(1);
            is_leading &= 0 < depth;
        }
    }
    plain
}

/// `schedlab_core::cycle::engine` of `…/core/src/cycle/engine.rs`, for files of this workspace.
fn module_of(file: &str) -> Option<String> {
    // The standard library has a crate `core` too; packages lie in cargo's registry.
    if file.contains("/library/") || file.contains("/registry/") {
        return None;
    }
    const CRATES: [(&str, &str); 6] = [
        ("core/src/", "schedlab_core"),
        ("cluster/src/", "schedlab_cluster"),
        ("workloads/src/", "schedlab_workloads"),
        ("perf-dash/src/", "schedlab_perf_dash"),
        ("lab/src/", "schedlab_lab"),
        ("cli/src/", "schedlab"),
    ];
    let (at, mark, package) = CRATES
        .iter()
        .filter_map(|(mark, package)| file.rfind(mark).map(|at| (at, *mark, *package)))
        .filter(|(at, ..)| *at == 0 || file[..*at].ends_with('/'))
        .max_by_key(|(at, ..)| *at)?;
    let path = file[at + mark.len()..].strip_suffix(".rs")?;
    let path = path.strip_suffix("/mod").unwrap_or(path).replace('/', "::");
    Some(format!("{package}::{path}"))
}

/// `NodeResourcesFit` of `…schedlab_core::plugins::node_resources_fit::…`, and the plugin that other
/// modules work for.
fn plugin(frame: &str) -> Option<String> {
    const ELSEWHERE: [(&str, &str); 4] = [
        ("schedlab_core::preemption", "DefaultPreemption"),
        ("schedlab_core::topology::affinity", "InterPodAffinity"),
        ("schedlab_core::topology::spread", "PodTopologySpread"),
        ("schedlab_core::queue::order", "PrioritySort"),
    ];
    if let Some((_, name)) = ELSEWHERE.iter().find(|(module, _)| frame.contains(module)) {
        return Some((*name).to_owned());
    }
    let module = after(frame, "schedlab_core::plugins::")?;
    let module = module.split("::").next().filter(|module| !module.contains(['<', ' ']))?;
    Some(module.split('_').map(capitalised).collect())
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// The extension point that a method of a plugin, or the engine's loop around it, belongs to.
fn extension_point(frame: &str) -> Option<String> {
    const METHODS: [(&str, &str); 15] = [
        ("reserve", "Reserve"),
        ("unreserve", "Reserve"),
        ("permit", "Permit"),
        ("pre_bind_pre_flight", "PreBind"),
        ("pre_bind", "PreBind"),
        ("bind", "Bind"),
        ("post_bind", "PostBind"),
        ("pre_enqueue", "PreEnqueue"),
        ("less", "QueueSort"),
        ("pre_filter", "PreFilter"),
        ("filter", "Filter"),
        ("verdict", "Filter"),
        ("pre_score", "PreScore"),
        ("score", "Score"),
        ("normalize", "ScoreExtensionNormalize"),
    ];
    // The engine's own loops, by function of core/src/cycle.
    const LOOPS: [(&str, &str); 12] = [
        ("run_filters", "Filter"),
        ("ensure_known", "Filter"),
        ("evaluate", "Filter"),
        ("search", "Filter"),
        ("row_fits", "Filter"),
        ("feasible_bits", "Filter"),
        ("ensure_scored", "Score"),
        ("score_block", "Score"),
        ("sum_scores", "Score"),
        ("select_by_totals", "Score"),
        ("select_by_sum", "Score"),
        ("word_best", "Score"),
    ];
    let function = frame.rsplit("::").find(|part| !part.starts_with('{'))?;
    let find = |list: &[(&str, &str)]| {
        list.iter().find(|(name, _)| *name == function).map(|(_, point)| (*point).to_owned())
    };
    if frame.contains("schedlab_core::plugins::") {
        return find(&METHODS);
    }
    // Whole modules that serve one point.
    const MODULES: [(&str, &str); 8] = [
        ("schedlab_core::preemption", "PostFilter"),
        ("schedlab_core::scheduler::preempt", "PostFilter"),
        ("schedlab_core::topology", "PreFilter"),
        ("schedlab_core::cycle::plan", "PreFilter"),
        ("schedlab_core::cycle::verdict", "Filter"),
        ("schedlab_core::cycle::word_best", "Score"),
        ("schedlab_core::cycle::select", "Score"),
        ("schedlab_core::queue::order", "QueueSort"),
    ];
    if let Some((_, point)) = MODULES.iter().find(|(module, _)| frame.contains(module)) {
        return Some((*point).to_owned());
    }
    if frame.contains("schedlab_core::cycle::") {
        return find(&LOOPS);
    }
    if frame.contains("schedlab_core::scheduler::binding") {
        return find(&METHODS);
    }
    (frame.contains("schedlab_cluster::") && function == "bind_batch").then(|| "Bind".to_owned())
}

/// The part of the program, by module.
fn part(frame: &str) -> Option<String> {
    const PARTS: [(&str, &str); 16] = [
        ("schedlab_core::topology", "pods by domain"),
        ("schedlab_core::binding", "API calls"),
        ("schedlab_core::nominations", "preemption"),
        ("schedlab_core::plugins", "plugins"),
        ("schedlab_core::scheduler", "scheduler loop"),
        ("schedlab_core::cycle", "scheduling cycle"),
        ("schedlab_core::queue", "queue"),
        ("schedlab_core::snapshot", "snapshot"),
        ("schedlab_core::class", "pod classes"),
        ("schedlab_core::preemption", "preemption"),
        ("schedlab_core::", "engine, other"),
        ("schedlab_cluster::embedded", "embedded API"),
        ("schedlab_cluster::runtime", "runtime"),
        ("schedlab_cluster::", "cluster, other"),
        ("schedlab_workloads::measure", "measuring"),
        ("schedlab_workloads::", "workload driver"),
    ];
    PARTS.iter().find(|(module, _)| frame.contains(module)).map(|(_, name)| (*name).to_owned())
}

fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.find(mark).map(|at| &text[at + mark.len()..])
}

/// How far a share of so many samples may be off, in percentage points: half the 95 % interval of a
/// share of one half, 1.96 standard errors sqrt(p (1 - p) / n). No other share is less sure.
#[must_use]
pub fn share_error_points(samples: u64) -> f64 {
    98.0 / (samples.max(1) as f64).sqrt()
}

/// A profile whose shares may be off by more is too thin to carry them: 385 samples are enough.
const SHARE_ERROR_MAX_POINTS: f64 = 5.0;

/// How many times as many samples a profile needs before its shares can be read; `None` when it has
/// enough.
#[must_use]
pub fn samples_missing(samples: u64) -> Option<f64> {
    let times = (share_error_points(samples) / SHARE_ERROR_MAX_POINTS).powi(2);
    (1.0 < times).then_some(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks(list: &[(&[&str], u64)]) -> BTreeMap<Vec<String>, u64> {
        let owned = |stack: &[&str]| stack.iter().map(|frame| (*frame).to_owned()).collect();
        list.iter().map(|(stack, count)| (owned(stack), *count)).collect()
    }

    #[test]
    fn samples_belong_to_the_innermost_frame_of_ours() {
        const SEARCH: &str = "schedlab_core::cycle::engine::Engine::search";
        const FIT: &str = "<schedlab_core::plugins::node_resources_fit::NodeResourcesFit as schedlab_core::framework::plugin::FilterPlugin>::filter";
        let shares = shares(&stacks(&[
            (&["main", SEARCH, FIT, "core::slice::iter::next"], 60),
            (&["main", SEARCH], 30),
            (&["clone3", "start_thread"], 10),
        ]));
        let of = |kind: &str, name: &str| {
            let found = shares.iter().find(|share| share.kind == kind && share.name == name);
            found.map(|share| (share.self_samples, share.total_samples))
        };
        assert_eq!(of("plugin", "NodeResourcesFit"), Some((60, 60)));
        assert_eq!(of("extension point", "Filter"), Some((90, 90)));
        assert_eq!(of("part", "plugins"), Some((60, 60)));
        assert_eq!(of("part", "scheduling cycle"), Some((30, 90)));
        assert_eq!(of("part", UNKNOWN), Some((10, 10)));
        let parts: u64 =
            shares.iter().filter(|share| share.kind == "part").map(|share| share.self_samples).sum();
        assert_eq!(parts, 100, "the parts add up");
    }

    #[test]
    fn a_share_of_178_samples_may_be_off_by_7_points_and_385_are_enough() {
        assert!((share_error_points(178) - 7.35).abs() < 0.01);
        assert!(samples_missing(178).is_some_and(|times| (2.1..2.2).contains(&times)));
        assert!(samples_missing(384).is_some());
        assert_eq!(samples_missing(385), None);
        assert!(samples_missing(0).is_some_and(f64::is_finite));
    }

    #[test]
    fn inlined_frames_get_their_module_from_their_file() {
        let cases = [
            (
                "schedlab_core::cycle::engine::Engine::decide::h0123456789abcdef",
                "x.rs",
                "schedlab_core::cycle::engine::Engine::decide",
            ),
            (
                "decide_wide<schedlab_workloads::measure::CycleMeter>",
                "/src/core/src/cycle/engine.rs",
                "schedlab_core::cycle::engine::decide_wide",
            ),
            ("filter", "core/src/plugins/node_name.rs", "schedlab_core::plugins::node_name::filter"),
            ("new", "/src/cluster/src/api/mod.rs", "schedlab_cluster::api::new"),
            ("eq<schedlab_core::ids::PodUid>", "/rustc/5980/library/core/src/cmp.rs", "eq"),
            ("insert", "/home/x/.cargo/registry/src/y/hashbrown/src/map.rs", "insert"),
            ("<schedlab_core::a::B<C> as D>::run<E>", "", "<schedlab_core::a::B<C> as D>::run"),
            ("call_once<fn() -> i32>::inner", "", "call_once::inner"),
            (
                "std[e28293b1aa0f68bd]::thread::spawn::<F, T>::{closure#1}",
                "",
                "std::thread::spawn::{closure#1}",
            ),
            ("core::slice::<[u8]>::iter", "", "core::slice::iter"),
        ];
        for (name, file, wanted) in cases {
            assert_eq!(frame_name(name, file), wanted, "{name} in {file}");
        }
    }

    #[test]
    fn frames_are_named_as_upstream_names_things() {
        let cases = [
            ("schedlab_core::plugins::node_affinity::matches::{{closure}}", Some("NodeAffinity"), None),
            (
                "<schedlab_core::plugins::image_locality::ImageLocality as X>::score",
                Some("ImageLocality"),
                Some("Score"),
            ),
            (
                "<schedlab_core::plugins::priority_sort::PrioritySort as X>::less",
                Some("PrioritySort"),
                Some("QueueSort"),
            ),
            ("schedlab_core::cycle::entry::Entry::ensure_scored", None, Some("Score")),
            ("schedlab_core::cycle::entry::run_filters::{{closure}}", None, Some("Filter")),
            (
                "<schedlab_cluster::embedded::EmbeddedCluster as schedlab_cluster::api::Api>::bind_batch",
                None,
                Some("Bind"),
            ),
            (
                "schedlab_core::preemption::dry_run::DryRun::run",
                Some("DefaultPreemption"),
                Some("PostFilter"),
            ),
            ("schedlab_core::scheduler::binding::reserve", None, Some("Reserve")),
            ("schedlab_core::topology::affinity::prepare", Some("InterPodAffinity"), Some("PreFilter")),
            ("schedlab_core::cycle::verdict::Question::fits", None, Some("Filter")),
            ("std::thread::spawn", None, None),
        ];
        for (frame, wanted_plugin, wanted_point) in cases {
            assert_eq!(plugin(frame).as_deref(), wanted_plugin, "{frame}");
            assert_eq!(extension_point(frame).as_deref(), wanted_point, "{frame}");
        }
    }
}
