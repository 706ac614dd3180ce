//! Configuration files: what they mean, and what is wrong with those that mean nothing.

use std::time::Duration;

use schedlab_core::framework::args::{
    ArgValue, DefaultPreemptionArgs, Defaulting, InterPodAffinityArgs, PluginArgs, VolumeBindingArgs,
};
use schedlab_core::framework::extension_point::ExtensionPoint;
use schedlab_core::plugins::node_resources_fit::Strategy;

use super::*;

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
    assert_eq!(default.scoring_strategy.strategy, Strategy::LeastAllocated);
    assert_eq!(default.scoring_strategy.resources, [("cpu".to_owned(), 1), ("memory".to_owned(), 1)]);
    let no_resources = fit("{scoringStrategy: {type: MostAllocated}}");
    assert_eq!(no_resources.scoring_strategy.strategy, Strategy::MostAllocated);
    assert_eq!(no_resources.scoring_strategy.resources.len(), 2);
    let weights = fit(
        "{scoringStrategy: {type: LeastAllocated, resources: [{name: a.b/c}, {name: cpu, weight: 0}, {name: memory, weight: 9}]}}",
    );
    let weights: Vec<i64> = weights.scoring_strategy.resources.iter().map(|(_, weight)| *weight).collect();
    assert_eq!(weights, [1, 1, 9]);
    let shape = fit(
        "{ignoredResources: [a.b/c], ignoredResourceGroups: [d.e], scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}}}",
    );
    assert_eq!(shape.scoring_strategy.strategy, Strategy::RequestedToCapacityRatio(vec![(0, 0), (100, 100)]));
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
fn a_file_of_another_version_or_kind_is_refused() {
    let cases = [
        ("kind: KubeSchedulerConfiguration\n", "s.yaml:1:1: KubeSchedulerConfiguration has no `apiVersion`"),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\nhealthzBindAddress: x\n",
            "s.yaml:1:13: `apiVersion: kubescheduler.config.k8s.io/v1beta3` of KubeSchedulerConfiguration is not allowed; \
             kube-scheduler no longer reads it; write kubescheduler.config.k8s.io/v1",
        ),
        (
            "apiVersion: v1\nkind: Pod\n",
            "s.yaml:1:13: `apiVersion: v1` of KubeSchedulerConfiguration is not allowed; write kubescheduler.config.k8s.io/v1",
        ),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: Policy\n",
            "s.yaml:2:7: `kind: Policy` of KubeSchedulerConfiguration is not allowed; write KubeSchedulerConfiguration",
        ),
        ("[]\n", "s.yaml:1:1: `value` of KubeSchedulerConfiguration is a list; write a mapping"),
        ("a: [\n", "s.yaml:1:4: not valid YAML"),
    ];
    for (text, message) in cases {
        let error = SchedulerConfig::parse("s.yaml", text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{text}: {error}");
    }
}

#[test]
fn bad_values_say_where_and_what_to_write() {
    let cases = [
        (
            "paralelism: 1\n",
            "3:1: unknown field `paralelism` in KubeSchedulerConfiguration (did you mean `parallelism`?)",
        ),
        ("Parallelism: 1\n", "3:1: unknown field `Parallelism`"),
        ("parallelism: 0\n", "3:14: `parallelism: 0`"),
        (
            "parallelism: many\n",
            "3:14: `parallelism` of KubeSchedulerConfiguration is \"many\"; write an integer",
        ),
        (
            "parallelism: 9999999999\n",
            "3:14: `parallelism: 9999999999` of KubeSchedulerConfiguration is not allowed; write an integer that fits 32 bits",
        ),
        ("percentageOfNodesToScore: 101\n", "3:27: `percentageOfNodesToScore: 101`"),
        (
            "profiles: [{percentageOfNodesToScore: -1}]\n",
            "3:39: `percentageOfNodesToScore: -1` of profiles[0]",
        ),
        ("podInitialBackoffSeconds: 0\n", "3:27: `podInitialBackoffSeconds: 0`"),
        (
            "podInitialBackoffSeconds: 20\n",
            "3:27: `podInitialBackoffSeconds: 20` of KubeSchedulerConfiguration is not allowed; write at most podMaxBackoffSeconds (10)",
        ),
        (
            "podMaxBackoffSeconds: 0\n",
            "3:23: `podMaxBackoffSeconds: 0` of KubeSchedulerConfiguration is not allowed; write at least podInitialBackoffSeconds (1)",
        ),
        ("leaderElection: {leaderElect: true, resourceLock: endpoints}\n", "3:51: `resourceLock: endpoints`"),
        ("leaderElection: {leaseDuration: 5s}\n", "3:33: `leaseDuration: 5s`"),
        ("clientConnection: {burst: -1}\n", "3:27: `burst: -1`"),
        (
            "profiles:\n- plugins: {scores: {}}\n",
            "4:13: unknown field `scores` in profiles[0].plugins (did you mean `score`?)",
        ),
        (
            "profiles:\n- plugins:\n    score:\n      enabled:\n      - weight: 1\n",
            "7:9: profiles[0].plugins.score.enabled[0] has no `name`",
        ),
        (
            "profiles:\n- plugins:\n    score:\n      enabled:\n      - {name: NodeAffinity, weight: -3}\n",
            "7:38: `weight: -3` of profiles[0].plugins.score.enabled[0] is not allowed; write 1 or more",
        ),
        (
            "profiles:\n- plugins:\n    score:\n      enabled:\n      - {name: NodeAffinity, weight: 1.5}\n",
            "7:38: `weight` of profiles[0].plugins.score.enabled[0] is 1.5; write an integer",
        ),
        (
            "profiles:\n- plugins:\n    filter:\n      enabled:\n      - name: EBSLimits\n",
            "7:15: `name: EBSLimits`",
        ),
        (
            "profiles:\n- plugins:\n    placementScore:\n      enabled:\n      - name: PodGroupPodsCount\n",
            "6:7: `placementScore: PodGroupPodsCount`",
        ),
        (
            "profiles:\n- pluginConfig:\n  - name: A\n  - name: A\n",
            "6:5: arguments of plugin `A` are given already (line 5)",
        ),
        ("profiles:\n- pluginConfig:\n  - args: {}\n", "5:5: profiles[0].pluginConfig[0] has no `name`"),
        ("extenders:\n- filterVerb: f\n", "4:3: extenders[0] has no `urlPrefix`"),
        (
            "extenders:\n- {urlPrefix: u, prioritizeVerb: p}\n",
            "4:3: `weight: 0` of extenders[0] is not allowed; an extender with a prioritizeVerb needs a weight of 1 or more",
        ),
        (
            "extenders:\n- {urlPrefix: u, bindVerb: b}\n- {urlPrefix: v, bindVerb: b}\n",
            "5:28: `bindVerb: b` of extenders[1]",
        ),
        (
            "extenders:\n- {urlPrefix: u, managedResources: [{name: cpu}]}\n",
            "4:44: `name: cpu` of extenders[0].managedResources[0]",
        ),
        (
            "extenders:\n- {urlPrefix: u, managedResources: [{name: a.b/c}]}\n- {urlPrefix: v, managedResources: [{name: a.b/c}]}\n",
            "5:44: `name: a.b/c` of extenders[1].managedResources[0] is not allowed; it is managed by an extender already",
        ),
        (
            "extenders:\n- {urlPrefix: u, httpTimeout: 5}\n",
            "4:31: `httpTimeout` of extenders[0] is 5; write a Go duration",
        ),
    ];
    for (body, message) in cases {
        let error = parse(body).map(|_| ()).expect_err(body).to_string();
        assert!(error.starts_with(&format!("s.yaml:{message}")), "{body}\n got: {error}\nwant: {message}");
    }
}

#[test]
fn bad_arguments_say_where_and_what_to_write() {
    let cases = [
        ("NodeResourcesFit", "{ignored: []}", "unknown field `ignored` in profiles[0].pluginConfig[0].args"),
        ("NodeResourcesFit", "{kind: OtherArgs}", "`kind: OtherArgs`"),
        ("NodeResourcesFit", "{apiVersion: v1}", "`apiVersion: v1`"),
        ("NodeResourcesFit", "{ignoredResources: ['a b']}", "`ignoredResources: a b`"),
        ("NodeResourcesFit", "{ignoredResourceGroups: [a.b/c]}", "`ignoredResourceGroups: a.b/c`"),
        (
            "NodeResourcesFit",
            "{scoringStrategy: {}}",
            "profiles[0].pluginConfig[0].args.scoringStrategy has no `type`",
        ),
        ("NodeResourcesFit", "{scoringStrategy: {type: Best}}", "`type: Best`"),
        (
            "NodeResourcesFit",
            "{scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, weight: 101}]}}",
            "`weight: 101`",
        ),
        (
            "NodeResourcesFit",
            "{scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, weight: -1}]}}",
            "`weight: -1`",
        ),
        (
            "NodeResourcesFit",
            "{scoringStrategy: {type: RequestedToCapacityRatio}}",
            "profiles[0].pluginConfig[0].args.scoringStrategy has no `requestedToCapacityRatio`",
        ),
        (
            "NodeResourcesFit",
            "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {}}}",
            "profiles[0].pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio has no `shape`",
        ),
        (
            "NodeResourcesFit",
            "{scoringStrategy: {type: MostAllocated, requestedToCapacityRatio: {}}}",
            "profiles[0].pluginConfig[0].args.scoringStrategy sets both `type` and `requestedToCapacityRatio`",
        ),
        ("VolumeBinding", "{shape: [{utilization: 101, score: 1}]}", "`utilization: 101`"),
        (
            "VolumeBinding",
            "{shape: [{utilization: 5, score: 1}, {utilization: 5, score: 2}]}",
            "`utilization: 5`",
        ),
        ("VolumeBinding", "{shape: [{utilization: 5, score: 11}]}", "`score: 11`"),
        ("VolumeBinding", "{bindTimeoutSeconds: -1}", "`bindTimeoutSeconds: -1`"),
        ("NodeResourcesBalancedAllocation", "{resources: [{name: cpu}, {name: cpu}]}", "`name: cpu`"),
        ("NodeResourcesBalancedAllocation", "{resources: [{name: cpu, weight: 2}]}", "`weight: 2`"),
        ("InterPodAffinity", "{hardPodAffinityWeight: 101}", "`hardPodAffinityWeight: 101`"),
        ("PodTopologySpread", "{defaultingType: Other}", "`defaultingType: Other`"),
        (
            "PodTopologySpread",
            "{defaultConstraints: [{maxSkew: 1, topologyKey: k, whenUnsatisfiable: DoNotSchedule}]}",
            "`defaultingType: System`",
        ),
        (
            "PodTopologySpread",
            "{defaultingType: List, defaultConstraints: [{maxSkew: 0, topologyKey: k, whenUnsatisfiable: DoNotSchedule}]}",
            "`maxSkew: 0`",
        ),
        (
            "PodTopologySpread",
            "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: 'a b', whenUnsatisfiable: DoNotSchedule}]}",
            "`topologyKey: a b`",
        ),
        (
            "PodTopologySpread",
            "{defaultingType: List, defaultConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]}",
            "profiles[0].pluginConfig[0].args.defaultConstraints[0] has no `topologyKey`",
        ),
        (
            "PodTopologySpread",
            "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: k, whenUnsatisfiable: Perhaps}]}",
            "`whenUnsatisfiable: Perhaps`",
        ),
        (
            "PodTopologySpread",
            "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: k, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}]}",
            "`labelSelector: ...`",
        ),
        (
            "PodTopologySpread",
            "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: k, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: k, whenUnsatisfiable: DoNotSchedule}]}",
            "`topologyKey: k`",
        ),
        ("DefaultPreemption", "{minCandidateNodesPercentage: 101}", "`minCandidateNodesPercentage: 101`"),
        ("DefaultPreemption", "{minCandidateNodesAbsolute: -1}", "`minCandidateNodesAbsolute: -1`"),
        (
            "DefaultPreemption",
            "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}",
            "`minCandidateNodesAbsolute: 0`",
        ),
        (
            "NodeAffinity",
            "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: k, operator: Like, values: [v]}]}]}}}",
            "`operator: Like`",
        ),
        (
            "NodeAffinity",
            "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: k, operator: In}]}]}}}",
            "`values: []`",
        ),
        (
            "NodeAffinity",
            "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: k, operator: Exists, values: [v]}]}]}}}",
            "`values: [v]`",
        ),
        (
            "NodeAffinity",
            "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: k, operator: Gt, values: [v]}]}]}}}",
            "`values: [v]`",
        ),
        (
            "NodeAffinity",
            "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: 'a b', operator: Exists}]}]}}}",
            "`key: a b`",
        ),
        (
            "NodeAffinity",
            "{addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchFields: [{key: spec.x, operator: In, values: [v]}]}}]}}",
            "`key: spec.x`",
        ),
    ];
    for (plugin, text, message) in cases {
        let error = args(plugin, text).map(|_| ()).expect_err(text).to_string();
        let place = error.strip_prefix("s.yaml:6:").unwrap_or_else(|| panic!("{text}: line of {error}"));
        let (_, said) = place.split_once(": ").unwrap();
        assert!(said.starts_with(message), "{plugin} {text}\n got: {said}\nwant: {message}");
    }
}

#[test]
fn profiles_that_cannot_be_built_point_into_the_file() {
    let cases = [
        (
            "profiles:\n- plugins:\n    filter:\n      enabled:\n      - name: NodeNome\n",
            "s.yaml:7:9: profile `default-scheduler`: there is no plugin `NodeNome`; known: DefaultBinder, ",
        ),
        (
            "profiles:\n- plugins:\n    multiPoint:\n      enabled:\n      - name: DynamicResources\n",
            "s.yaml:7:9: profile `default-scheduler`: plugin `DynamicResources` of kube-scheduler is not built into schedlab yet",
        ),
        (
            "profiles:\n- plugins:\n    score:\n      enabled:\n      - name: NodeName\n",
            "s.yaml:7:9: profile `default-scheduler`: plugin `NodeName` does not extend score; it extends preFilter, filter",
        ),
        (
            "profiles:\n- plugins:\n    filter:\n      enabled:\n      - name: NodeName\n      - name: NodeName\n",
            "s.yaml:8:9: profile `default-scheduler`: plugin `NodeName` is enabled twice at filter; remove one",
        ),
        (
            "profiles:\n- schedulerName: a\n- schedulerName: a\n",
            "s.yaml:5:18: profile `a`: another profile has the same scheduler name",
        ),
        ("profiles:\n- {}\n- schedulerName: a\n", "s.yaml:4:3: profile ``: no scheduler name"),
        (
            "profiles:\n- plugins:\n    queueSort:\n      disabled: [{name: '*'}]\n",
            "s.yaml:4:3: profile `default-scheduler`: exactly one queueSort plugin is needed, 0 are enabled",
        ),
        (
            "profiles:\n- plugins:\n    bind:\n      disabled: [{name: DefaultBinder}]\n",
            "s.yaml:4:3: profile `default-scheduler`: no bind plugin is enabled",
        ),
    ];
    for (body, message) in cases {
        let error = build(&parsed(body)).map(|_| ()).expect_err(body).to_string();
        assert!(error.starts_with(message), "{body}\n got: {error}\nwant: {message}");
    }
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
