//! What is wrong with files that mean nothing: where, which value, what to write.

use super::*;

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
            "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: k, operator: Lt, values: ['-5']}]}]}}}",
            "`values: [-5]`",
        ),
        ("DynamicResources", "{bindingTimeout: 500ms}", "`bindingTimeout: 500ms`"),
        ("DynamicResources", "{bindTimeout: 5s}", "unknown field `bindTimeout`"),
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
            "profiles:\n- plugins:\n    multiPoint:\n      enabled:\n      - name: DeferredPodScheduling\n",
            "s.yaml:7:9: profile `default-scheduler`: plugin `DeferredPodScheduling` of kube-scheduler is not built into schedlab yet",
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
