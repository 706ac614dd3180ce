//! What is fed: every reader of the repository, and what is done with what it read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schedlab_cluster::EmbeddedCluster;
use schedlab_cluster::api::{Api as _, Object};
use schedlab_cluster::convert::{label_selector_input, lift_execution_affinity};
use schedlab_cluster::selector;
use schedlab_cluster::validate::validate;
use schedlab_core::quantity::Quantity;
use schedlab_core::scheduler::FeatureGates;
use schedlab_core::world::World;
use schedlab_perf_dash::history::{self, Record};
use schedlab_perf_dash::render_html;
use schedlab_replay::{parse_trace, replay};
use schedlab_workloads::explain::{ExplainSetup, Subject, parse_manifests};
use schedlab_workloads::lab_plugins;
use schedlab_workloads::labels::LabelFilter;
use schedlab_workloads::resolve::{Selection, Suite};
use schedlab_workloads::results::parse_result_json;
use schedlab_workloads::scheduler_config::SchedulerConfig;
use schedlab_workloads::source::{Source, SourceError};
use schedlab_workloads::study::parse_studies;
use schedlab_workloads::template::{Env, ObjectTemplate};

/// Which seeds a target takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Workload,
    Template,
    Config,
    Trace,
    Dump,
    Result,
    History,
    Quantity,
    Selector,
    Object,
}

/// A reader and what follows it.
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// Of a hundred inputs of a long run, so many are its own: the dear ones get fewer.
    pub share: u64,
    pub(crate) kind: Kind,
    /// Reads an input; whether it was accepted.
    pub(crate) read: fn(&[u8]) -> bool,
}

impl Target {
    /// Keeps the inputs of targets apart.
    pub(crate) fn salt(&self) -> u64 {
        self.name.bytes().fold(0, |salt, byte| salt.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte))
    }
}

/// All of them.
pub const TARGETS: [Target; 10] = [
    Target { name: "workload", share: 6, kind: Kind::Workload, read: workload },
    Target { name: "template", share: 14, kind: Kind::Template, read: template },
    Target { name: "config", share: 10, kind: Kind::Config, read: config },
    Target { name: "trace", share: 3, kind: Kind::Trace, read: trace },
    Target { name: "dump", share: 4, kind: Kind::Dump, read: dump },
    Target { name: "result", share: 3, kind: Kind::Result, read: result },
    Target { name: "history", share: 5, kind: Kind::History, read: history },
    Target { name: "quantity", share: 25, kind: Kind::Quantity, read: quantity },
    Target { name: "selector", share: 15, kind: Kind::Selector, read: selector_text },
    Target { name: "object", share: 15, kind: Kind::Object, read: object },
];

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// One file, whatever is asked for.
#[derive(Debug)]
struct OneFile(String);

impl Source for OneFile {
    fn read(&self, path: &Path) -> Result<String, SourceError> {
        match path.file_name() {
            Some(name) if name == "performance-config.yaml" => Ok(self.0.clone()),
            _ => Ok(
                "kind: Pod\napiVersion: v1\nmetadata: {generateName: p-}\nspec: {containers: [{name: c}]}\n"
                    .to_owned(),
            ),
        }
    }

    fn configs(&self, _: &Path) -> Result<Vec<PathBuf>, SourceError> {
        Ok(vec![PathBuf::from("a/performance-config.yaml")])
    }
}

fn workload(bytes: &[u8]) -> bool {
    let Some(text) = text(bytes) else { return false };
    let _ = parse_studies("study.yaml", text);
    let Ok(suite) = Suite::load(Arc::new(OneFile(text.to_owned())), Path::new("a")) else { return false };
    suite.resolve_each(&Selection::all()).iter().any(|selected| selected.workload.is_ok())
}

fn template(bytes: &[u8]) -> bool {
    let Some(text) = text(bytes) else { return false };
    let Ok(template) = ObjectTemplate::parse(Path::new("t.yaml"), text.to_owned()) else { return false };
    let env = Env::default().with_index(3).with_count(10);
    let Ok(mut value) = template.render_json(&env) else { return false };
    let _ = lift_execution_affinity(&mut value);
    let Ok(object) = Object::from_json(value) else { return false };
    validate(&object).is_ok()
}

fn config(bytes: &[u8]) -> bool {
    let Some(text) = text(bytes) else { return false };
    let Ok(config) = SchedulerConfig::parse("config.yaml", text) else { return false };
    config.build(&lab_plugins::registry(), &mut World::default().vocabulary).is_ok()
}

fn trace(bytes: &[u8]) -> bool {
    parse_trace("trace.json", bytes).is_ok_and(|trace| replay(&trace).is_ok())
}

fn dump(bytes: &[u8]) -> bool {
    let Some(text) = text(bytes) else { return false };
    let Ok(manifests) = parse_manifests(Path::new("dump.yaml"), text) else { return false };
    let wanted = manifests.iter().find_map(|manifest| match &manifest.object {
        Object::Pod(pod) => {
            let namespace = pod.metadata.namespace.as_deref().unwrap_or("default");
            Some(format!("{namespace}/{}", pod.metadata.name.as_deref().unwrap_or_default()))
        }
        _ => None,
    });
    let registry = lab_plugins::registry();
    let setup = ExplainSetup {
        source: "dump.yaml",
        gates: FeatureGates::default(),
        config: None,
        registry: &registry,
    };
    let Some(Ok(mut subject)) = wanted.map(|wanted| Subject::from_manifests(manifests, &wanted, &setup))
    else {
        return false;
    };
    let report = subject.explain();
    !format!("{:?}", report.verdict).is_empty()
}

fn result(bytes: &[u8]) -> bool {
    let Ok(run) = parse_result_json(Path::new("result.json"), bytes) else { return false };
    let record = Record::from_run(&run, None, Vec::new());
    !render_html(&run).is_empty() && !record.id.is_empty()
}

/// The record is framed as a writer would, so that damage of the frame is not all that is tried.
fn history(bytes: &[u8]) -> bool {
    use std::io::Write as _;
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("a vector takes all bytes");
    let payload = encoder.finish().expect("a vector takes all bytes");
    let mut file = b"schedlab-hist/1\n\xF5SLR".to_vec();
    file.extend(u32::try_from(payload.len()).expect("inputs are short").to_le_bytes());
    file.extend(crc32fast::hash(&payload).to_le_bytes());
    file.extend(payload);
    file.extend(bytes);
    let Ok(history) = history::parse(Path::new("history.slh"), &file) else { return false };
    let alerts = schedlab_perf_dash::alerts::Alerts::of(
        &history.records,
        schedlab_perf_dash::stats::Fence::given(0.05),
    );
    let _ = schedlab_perf_dash::alerts::markdown(&alerts);
    !history.records.is_empty()
}

fn quantity(bytes: &[u8]) -> bool {
    let Some(parsed) = text(bytes).and_then(|text| Quantity::parse(text).ok()) else { return false };
    // Sums stop at the ends of the range.
    let _ = (parsed + parsed, Quantity::default() - parsed, parsed.value(), parsed.milli_value());
    true
}

fn selector_text(bytes: &[u8]) -> bool {
    let Some(text) = text(bytes) else { return false };
    let is_filter = text.parse::<LabelFilter>().is_ok();
    let labels = [("app".to_owned(), "web".to_owned())].into();
    if let Ok(selector) = serde_json::from_str(text) {
        let _ = selector::matches(&label_selector_input(&selector), &labels);
    }
    is_filter
}

fn object(bytes: &[u8]) -> bool {
    let Some(value) = text(bytes).and_then(|text| serde_saphyr::from_str::<serde_json::Value>(text).ok())
    else {
        return false;
    };
    let Ok(object) = Object::from_json(value) else { return false };
    let cluster = EmbeddedCluster::new(Arc::new(|| 0));
    let key = object.key();
    let is_created = cluster.create(object.clone()).is_ok();
    if is_created {
        let _ = (cluster.update(object.clone()), cluster.update_status(object), cluster.get(&key));
        let _ = cluster.delete(&key, None);
    }
    is_created
}
