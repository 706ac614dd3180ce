//! The configuration of a scheduler that is run as a process: generated, or the user's with what the run
//! must decide.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{API_VERSION, ConfigError, KIND, syntax_error};
use crate::resolve::SchedulerConfigFile;
use crate::yaml;

/// Upstream: scheduler_perf/util.go, the client of its schedulers; a limit of 50 calls a second would be
/// all that is measured.
const CALLS_PER_S: u32 = 5000;

/// What a run decides.
#[derive(Clone, Copy, Debug)]
pub struct ProcessConfig<'a> {
    /// Leads to the API server.
    pub kubeconfig: &'a Path,
    /// `parallelism`, if it was asked for.
    pub parallelism: Option<usize>,
    /// `percentageOfNodesToScore`, if it was asked for.
    pub percentage_of_nodes_to_score: Option<i32>,
}

/// A KubeSchedulerConfiguration as JSON, which is YAML. What a file says is kept, plugins that nobody knows
/// here included, but for the way to the API server, its encoding, and leader election: that is off.
pub fn config_for_process(
    file: Option<&SchedulerConfigFile>,
    process: &ProcessConfig<'_>,
) -> Result<String, ConfigError> {
    let mut config = match file {
        None => json!({}),
        Some(file) => {
            let name = file.path.display().to_string();
            let parsed = yaml::parse(&file.text);
            parsed.map_err(|error| syntax_error(&name, error))?.to_json()
        }
    };
    if !config.is_object() {
        config = json!({});
    }
    let Some(fields) = config.as_object_mut() else { return Ok(String::new()) };
    fields.entry("apiVersion").or_insert_with(|| json!(API_VERSION));
    fields.entry("kind").or_insert_with(|| json!(KIND));
    let client = object_in(fields, "clientConnection");
    client.insert("kubeconfig".to_owned(), json!(process.kubeconfig.display().to_string()));
    client.insert("contentType".to_owned(), json!("application/json"));
    client.insert("acceptContentTypes".to_owned(), json!("application/json"));
    client.entry("qps").or_insert_with(|| json!(CALLS_PER_S));
    client.entry("burst").or_insert_with(|| json!(CALLS_PER_S));
    object_in(fields, "leaderElection").insert("leaderElect".to_owned(), json!(false));
    if let Some(ways) = process.parallelism {
        fields.insert("parallelism".to_owned(), json!(ways));
    }
    if let Some(percentage) = process.percentage_of_nodes_to_score {
        fields.insert("percentageOfNodesToScore".to_owned(), json!(percentage));
    }
    Ok(format!("{config:#}\n"))
}

/// The object of a field; one is made where there is none.
fn object_in<'a>(fields: &'a mut Map<String, Value>, name: &str) -> &'a mut Map<String, Value> {
    let value = fields.entry(name).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("it is an object now")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configured(text: Option<&str>) -> Value {
        let file = text.map(|text| SchedulerConfigFile { path: "c.yaml".into(), text: text.to_owned() });
        let process = ProcessConfig {
            kubeconfig: Path::new("/k"),
            parallelism: Some(4),
            percentage_of_nodes_to_score: None,
        };
        let text = config_for_process(file.as_ref(), &process).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn configuration_is_generated_for_the_api_server() {
        let connection = json!({
            "kubeconfig": "/k", "contentType": "application/json", "acceptContentTypes": "application/json",
            "qps": 5000, "burst": 5000,
        });
        let expected = json!({
            "apiVersion": API_VERSION, "kind": KIND, "clientConnection": connection,
            "leaderElection": {"leaderElect": false}, "parallelism": 4,
        });
        assert_eq!(configured(None), expected);
    }

    #[test]
    fn configuration_of_the_user_keeps_its_profiles_and_limits() {
        let config = configured(Some(
            "clientConnection: {qps: 7, kubeconfig: other}\nleaderElection: {leaderElect: true}\n\
             profiles: [{schedulerName: mine, plugins: {multiPoint: {enabled: [{name: Coscheduling}]}}}]\n",
        ));
        assert_eq!(config["clientConnection"]["qps"], json!(7));
        assert_eq!(config["clientConnection"]["kubeconfig"], json!("/k"));
        assert_eq!(config["leaderElection"]["leaderElect"], json!(false));
        assert_eq!(
            config["profiles"][0]["plugins"]["multiPoint"]["enabled"][0]["name"],
            json!("Coscheduling")
        );
    }
}
