//! Configuration files: what they mean, and what is wrong with those that mean nothing.

use std::time::Duration;

use schedlab_core::framework::args::{
    ArgValue, DefaultPreemptionArgs, Defaulting, InterPodAffinityArgs, PluginArgs, VolumeBindingArgs,
};
use schedlab_core::framework::extension_point::ExtensionPoint;
use schedlab_core::plugins::node_resources_fit::ScoringStrategyType;

use super::*;

mod bad_input;

const HEAD: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

fn parse(body: &str) -> Result<SchedulerConfig, SchemaError> {
    SchedulerConfig::parse("s.yaml", &format!("{HEAD}{body}"))
}

fn parsed(body: &str) -> SchedulerConfig {
    parse(body).unwrap_or_else(|error| panic!("{error}\n{body}"))
}

/// The arguments of one plugin, given as a flow mapping.
fn args(plugin: &str, args: &str) -> Result<PluginArgs, SchemaError> {
    let config = parse(&format!("profiles:\n- pluginConfig:\n  - name: {plugin}\n    args: {args}\n"))?;
    Ok(config.profiles[0].args[plugin].clone())
}

fn build(config: &SchedulerConfig) -> Result<Vec<Profile>, ConfigError> {
    config.build(&Registry::new_in_tree(), &mut Vocabulary::default())
}

#[test]
fn an_empty_configuration_is_the_default_one() {
    let config = parsed("");
    assert_eq!(config.parallelism, 16);
    assert_eq!(config.percentage_of_nodes_to_score, 0);
    assert_eq!((config.pod_initial_backoff_s, config.pod_max_backoff_s), (1, 10));
    assert!(config.extenders.is_empty());
    let profiles = build(&config).unwrap();
    assert_eq!(profiles.len(), 1);
    assert_eq!(profiles[0].scheduler_name, "default-scheduler");
    let default = schedlab_core::framework::registry::default_profile(&mut Vocabulary::default());
    for point in ExtensionPoint::ALL {
        let names =
            |profile: &Profile| profile.plugins_at(point).map(|plugin| plugin.name()).collect::<Vec<_>>();
        assert_eq!(names(&profiles[0]), names(&default), "{point}");
    }
}

#[test]
fn json_is_read_as_well() {
    let text = r#"{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "parallelism": 4, "profiles": [{"schedulerName": "a"}]}"#;
    let config = SchedulerConfig::parse("s.json", text).unwrap();
    assert_eq!((config.parallelism, config.profiles[0].scheduler_name.as_str()), (4, "a"));
}

#[test]
fn settings_of_the_process_are_accepted_and_ignored() {
    let config = parsed(
        "leaderElection: {leaderElect: true, leaseDuration: 15s, resourceLock: leases}
clientConnection: {kubeconfig: /etc/k, qps: 50.5, burst: 100}
enableProfiling: true
enableContentionProfiling: false
delayCacheUntilActive: true
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 20
",
    );
    assert_eq!((config.pod_initial_backoff_s, config.pod_max_backoff_s), (2, 20));
}

#[test]
fn the_percentage_of_a_profile_wins_over_the_global_one() {
    let config = parsed(
        "percentageOfNodesToScore: 30
profiles:
- schedulerName: global
- {schedulerName: own, percentageOfNodesToScore: 70}
- {schedulerName: adaptive, percentageOfNodesToScore: 0}
",
    );
    let percentages: Vec<i32> =
        build(&config).unwrap().iter().map(|profile| profile.percentage_of_nodes_to_score).collect();
    assert_eq!(percentages, [30, 70, 0]);
}

#[test]
fn filters_run_in_the_users_order_and_scores_with_the_users_weights() {
    let config = parsed(
        "profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      disabled: [{name: ImageLocality}]
    filter:
      enabled: [{name: NodeResourcesFit}, {name: NodeName}]
    score:
      disabled: [{name: '*'}]
      enabled: [{name: NodeResourcesFit, weight: 7}, {name: TaintToleration}]
",
    );
    let profile = &build(&config).unwrap()[0];
    let filters: Vec<&str> =
        profile.plugins_at(ExtensionPoint::Filter).map(|plugin| plugin.name()).take(3).collect();
    assert_eq!(filters, ["NodeResourcesFit", "NodeName", "NodeUnschedulable"]);
    let scores: Vec<(&str, i64)> =
        profile.scores().iter().map(|&(at, weight)| (profile.name(at), weight)).collect();
    assert_eq!(scores, [("NodeResourcesFit", 7), ("TaintToleration", 1)]);
}

#[test]
fn arguments_get_upstreams_defaults() {
    let fit = |text| match args("NodeResourcesFit", text).unwrap() {
        PluginArgs::NodeResourcesFit(args) => args,
        other => panic!("{other:?}"),
    };
    let default = fit("{}");
    assert_eq!(default.scoring_strategy.strategy, ScoringStrategyType::LeastAllocated);
    assert_eq!(default.scoring_strategy.resources, [("cpu".to_owned(), 1), ("memory".to_owned(), 1)]);
    let no_resources = fit("{scoringStrategy: {type: MostAllocated}}");
    assert_eq!(no_resources.scoring_strategy.strategy, ScoringStrategyType::MostAllocated);
    assert_eq!(no_resources.scoring_strategy.resources.len(), 2);
    let weights = fit(
        "{scoringStrategy: {type: LeastAllocated, resources: [{name: a.b/c}, {name: cpu, weight: 0}, {name: memory, weight: 9}]}}",
    );
    let weights: Vec<i64> = weights.scoring_strategy.resources.iter().map(|(_, weight)| *weight).collect();
    assert_eq!(weights, [1, 1, 9]);
    let shape = fit(
        "{ignoredResources: [a.b/c], ignoredResourceGroups: [d.e], scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}}}",
    );
    assert_eq!(
        shape.scoring_strategy.strategy,
        ScoringStrategyType::RequestedToCapacityRatio(vec![(0, 0), (100, 100)])
    );
    assert_eq!((shape.ignored_resources.len(), shape.ignored_resource_groups.len()), (1, 1));

    let cases = [
        ("InterPodAffinity", "{}", PluginArgs::InterPodAffinity(InterPodAffinityArgs::default())),
        (
            "InterPodAffinity",
            "{hardPodAffinityWeight: 0, ignorePreferredTermsOfExistingPods: true}",
            PluginArgs::InterPodAffinity(InterPodAffinityArgs {
                hard_pod_affinity_weight: 0,
                ignore_preferred_terms_of_existing_pods: true,
            }),
        ),
        (
            "VolumeBinding",
            "{bindTimeoutSeconds: 0}",
            PluginArgs::VolumeBinding(VolumeBindingArgs {
                bind_timeout_seconds: 0,
                shape: vec![(0, 10), (100, 0)],
            }),
        ),
        (
            "VolumeBinding",
            "{shape: [{utilization: 10, score: 3}]}",
            PluginArgs::VolumeBinding(VolumeBindingArgs { bind_timeout_seconds: 600, shape: vec![(10, 3)] }),
        ),
        (
            "DefaultPreemption",
            "{minCandidateNodesPercentage: 0}",
            PluginArgs::DefaultPreemption(DefaultPreemptionArgs {
                min_candidate_nodes_percentage: 0,
                min_candidate_nodes_absolute: 100,
            }),
        ),
        (
            "NodeResourcesBalancedAllocation",
            "{apiVersion: kubescheduler.config.k8s.io/v1, kind: NodeResourcesBalancedAllocationArgs}",
            PluginArgs::default_of("NodeResourcesBalancedAllocation"),
        ),
        ("NodeAffinity", "~", PluginArgs::default_of("NodeAffinity")),
        (
            "MyOwn",
            "{list: [1, 1.5, yes], deep: {text: x}}",
            PluginArgs::Other(ArgValue::Map(
                [
                    (
                        "list".to_owned(),
                        ArgValue::List(vec![
                            ArgValue::Integer(1),
                            ArgValue::Float(1.5),
                            ArgValue::Bool(true),
                        ]),
                    ),
                    (
                        "deep".to_owned(),
                        ArgValue::Map([("text".to_owned(), ArgValue::Text("x".to_owned()))].into()),
                    ),
                ]
                .into(),
            )),
        ),
    ];
    for (plugin, text, expected) in cases {
        assert_eq!(args(plugin, text).unwrap(), expected, "{plugin}: {text}");
    }
}

#[test]
fn default_constraints_and_added_affinity_are_taken_over() {
    let spread = args(
        "PodTopologySpread",
        "{defaultingType: List, defaultConstraints: [{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, nodeTaintsPolicy: Honor}]}",
    );
    let PluginArgs::PodTopologySpread(spread) = spread.unwrap() else { panic!("spread") };
    assert_eq!(spread.defaulting, Defaulting::List);
    let constraint = &spread.default_constraints[0];
    assert_eq!((constraint.max_skew, constraint.topology_key.as_str()), (2, "zone"));
    assert!(constraint.schedule_anyway && constraint.honor_node_taints && !constraint.ignore_node_affinity);
    let empty_list = args("PodTopologySpread", "{defaultingType: List, defaultConstraints: []}").unwrap();
    assert!(matches!(empty_list, PluginArgs::PodTopologySpread(args) if args.defaulting == Defaulting::List));

    let affinity = args(
        "NodeAffinity",
        "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [ssd]}], matchFields: [{key: metadata.name, operator: NotIn, values: [node-1]}]}]}, preferredDuringSchedulingIgnoredDuringExecution: [{weight: 3, preference: {matchExpressions: [{key: cores, operator: Gt, values: ['4']}]}}]}}",
    );
    let PluginArgs::NodeAffinity(affinity) = affinity.unwrap() else { panic!("affinity") };
    let added = affinity.added_affinity.unwrap();
    assert_eq!(added.required.unwrap()[0].match_fields[0].values, ["node-1"]);
    assert_eq!(added.preferred.unwrap()[0].0, 3);
}

#[test]
fn extenders_are_read_and_their_resources_leave_node_resources_fit() {
    let config = parsed(
        "extenders:
- urlPrefix: http://localhost:8888/
  filterVerb: filter
  prioritizeVerb: prioritize
  preemptVerb: preempt
  bindVerb: bind
  weight: 5
  enableHTTPS: true
  tlsConfig: {insecure: true, serverName: s, certData: Y2VydA==}
  httpTimeout: 300ms
  nodeCacheCapable: true
  managedResources:
  - {name: example.com/gpu, ignoredByScheduler: true}
  - {name: example.com/fpga}
  ignorable: true
- urlPrefix: http://other
  filterVerb: f
",
    );
    let [first, second] = config.extenders.as_slice() else { panic!("two extenders") };
    assert_eq!((first.weight, first.http_timeout), (5, Duration::from_millis(300)));
    assert_eq!(first.tls_config.as_ref().unwrap().cert_data, "Y2VydA==");
    assert!(first.enable_https && first.node_cache_capable && first.ignorable);
    assert_eq!(second.http_timeout, Duration::from_secs(5));
    let configs = config.profile_configs(&Registry::new_in_tree());
    let PluginArgs::NodeResourcesFit(fit) = &configs[0].args["NodeResourcesFit"] else { panic!("fit") };
    assert_eq!(fit.ignored_resources, ["example.com/gpu"]);
}

#[test]
fn the_example_of_the_docs_is_what_the_page_says() {
    let page = include_str!("../../../docs/configuration.md");
    let (_, rest) = page.split_once("```yaml\n").expect("the page has an example");
    let (example, _) = rest.split_once("```").expect("it ends");
    let config = SchedulerConfig::parse("scheduler.yaml", example).unwrap();
    let profiles = build(&config).unwrap();
    let names = |at: usize, point| -> Vec<&str> {
        profiles[at].plugins_at(point).map(|plugin| plugin.name()).collect()
    };
    assert_eq!(names(0, ExtensionPoint::Filter)[..3], ["NodeResourcesFit", "NodeName", "NodeUnschedulable"]);
    assert!(!names(0, ExtensionPoint::Score).contains(&"ImageLocality"));
    assert!(names(1, ExtensionPoint::Score).contains(&"ImageLocality"));
    let &(first, weight) = &profiles[0].scores()[0];
    assert_eq!((profiles[0].name(first), weight), ("NodeResourcesFit", 5));
    let slip = example.replace("NodeResourcesFit       #", "NodeResourceFit        #");
    let error = build(&SchedulerConfig::parse("scheduler.yaml", &slip).unwrap()).unwrap_err().to_string();
    let shown =
        "scheduler.yaml:16:9: profile `default-scheduler`: there is no plugin `NodeResourceFit`; known:";
    assert!(error.starts_with(shown) && page.contains(shown), "{error}");
}

#[test]
fn no_text_makes_the_reader_panic() {
    let page = include_str!("../../../docs/configuration.md");
    let (_, rest) = page.split_once("```yaml\n").expect("the page has an example");
    let (example, _) = rest.split_once("```").expect("it ends");
    let ends = example.char_indices().map(|(at, _)| at);
    let read = ends.filter(|&end| SchedulerConfig::parse("s.yaml", &example[..end]).is_ok()).count();
    assert!(0 < read, "some beginnings are whole files");
    let lines: Vec<&str> = example.lines().collect();
    for left_out in 0..lines.len() {
        let text: String = lines
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != left_out)
            .map(|(_, line)| format!("{line}\n"))
            .collect();
        if let Ok(config) = SchedulerConfig::parse("s.yaml", &text) {
            let _ = build(&config);
        }
    }
}
