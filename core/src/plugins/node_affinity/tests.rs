use super::*;
use crate::naive::normalize;
use crate::testkit::{bare_node, empty, field_term, label_pairs, node_term, requirement, strings};

fn labelled(name: &str, list: &[(&str, &str)]) -> NaiveNode {
    empty(NodeInput { labels: label_pairs(list), ..bare_node(name) })
}

fn requiring(terms: &[NodeSelectorTermInput]) -> PodInput {
    PodInput { node_affinity: Some(required(terms)), ..Default::default() }
}

fn required(terms: &[NodeSelectorTermInput]) -> NodeAffinityInput {
    NodeAffinityInput { required: Some(terms.to_vec()), ..Default::default() }
}

fn preferred(terms: &[(i32, NodeSelectorTermInput)]) -> NodeAffinityInput {
    NodeAffinityInput { preferred: Some(terms.to_vec()), ..Default::default() }
}

fn selecting(list: &[(&str, &str)]) -> PodInput {
    PodInput { node_selector: Some(label_pairs(list)), ..Default::default() }
}

fn names(list: &[&str]) -> NaivePreFilter {
    NaivePreFilter::Nodes(strings(list).into_iter().collect())
}

#[test]
fn node_selector_cases() {
    struct Case {
        name: &'static str,
        selector: &'static [(&'static str, &'static str)],
        labels: &'static [(&'static str, &'static str)],
        fits: bool,
    }
    #[rustfmt::skip]
    let cases = [
        Case { name: "label missing", selector: &[("disk", "ssd")], labels: &[], fits: false },
        Case { name: "label there", selector: &[("disk", "ssd")], labels: &[("disk", "ssd")], fits: true },
        Case { name: "another value", selector: &[("disk", "ssd")], labels: &[("disk", "hdd")], fits: false },
        Case { name: "the node has more", selector: &[("disk", "ssd")], labels: &[("disk", "ssd"), ("gpu", "no")], fits: true },
        Case { name: "the node has less", selector: &[("disk", "ssd"), ("gpu", "no")], labels: &[("disk", "ssd")], fits: false },
        Case { name: "an empty selector", selector: &[], labels: &[], fits: true },
        Case { name: "an empty value needs the key", selector: &[("disk", "")], labels: &[], fits: false },
        Case { name: "keys and values are taken as they are", selector: &[("not a key!", "-5")], labels: &[("not a key!", "-5")], fits: true },
    ];
    for case in &cases {
        let pod = selecting(case.selector);
        assert_eq!(pre_filter(&pod, None), NaivePreFilter::AllNodes, "case: {}", case.name);
        let verdict = filter(&pod, None, &labelled("n", case.labels));
        assert_eq!(verdict.is_none(), case.fits, "case: {}", case.name);
    }
}

#[test]
fn requirement_cases() {
    struct Case {
        name: &'static str,
        operator: &'static str,
        values: &'static [&'static str],
        label: Option<&'static str>,
        fits: bool,
    }
    #[rustfmt::skip]
    let cases = [
        Case { name: "In, listed", operator: "In", values: &["a", "b"], label: Some("b"), fits: true },
        Case { name: "In, not listed", operator: "In", values: &["a", "b"], label: Some("c"), fits: false },
        Case { name: "In, no label", operator: "In", values: &["a"], label: None, fits: false },
        Case { name: "In, empty value listed but no label", operator: "In", values: &[""], label: None, fits: false },
        Case { name: "In, empty value", operator: "In", values: &[""], label: Some(""), fits: true },
        Case { name: "In, no values: unreadable", operator: "In", values: &[], label: Some("a"), fits: false },
        Case { name: "In, one value is no label value", operator: "In", values: &["b", "-b-"], label: Some("b"), fits: false },
        Case { name: "NotIn, listed", operator: "NotIn", values: &["a"], label: Some("a"), fits: false },
        Case { name: "NotIn, not listed", operator: "NotIn", values: &["a"], label: Some("b"), fits: true },
        Case { name: "NotIn, no label", operator: "NotIn", values: &["a"], label: None, fits: true },
        Case { name: "NotIn, no values: unreadable", operator: "NotIn", values: &[], label: Some("b"), fits: false },
        Case { name: "NotIn, a bad value: unreadable", operator: "NotIn", values: &["a b"], label: None, fits: false },
        Case { name: "Exists", operator: "Exists", values: &[], label: Some(""), fits: true },
        Case { name: "Exists, no label", operator: "Exists", values: &[], label: None, fits: false },
        Case { name: "Exists with values: unreadable", operator: "Exists", values: &["a"], label: Some("a"), fits: false },
        Case { name: "DoesNotExist", operator: "DoesNotExist", values: &[], label: None, fits: true },
        Case { name: "DoesNotExist, label there", operator: "DoesNotExist", values: &[], label: Some("a"), fits: false },
        Case { name: "DoesNotExist with values: unreadable", operator: "DoesNotExist", values: &["a"], label: None, fits: false },
        Case { name: "Gt", operator: "Gt", values: &["5"], label: Some("6"), fits: true },
        Case { name: "Gt, equal", operator: "Gt", values: &["5"], label: Some("5"), fits: false },
        Case { name: "Gt is by number", operator: "Gt", values: &["9"], label: Some("10"), fits: true },
        Case { name: "Gt, leading zeros", operator: "Gt", values: &["0005"], label: Some("06"), fits: true },
        Case { name: "Gt, no label", operator: "Gt", values: &["5"], label: None, fits: false },
        Case { name: "Gt, label is no integer", operator: "Gt", values: &["5"], label: Some("6.5"), fits: false },
        Case { name: "Gt, label is a word", operator: "Gt", values: &["5"], label: Some("many"), fits: false },
        Case { name: "Gt, label too large", operator: "Gt", values: &["5"], label: Some("9223372036854775808"), fits: false },
        Case { name: "Gt, bound is a word: unreadable", operator: "Gt", values: &["few"], label: Some("6"), fits: false },
        Case { name: "Gt, bound too large: unreadable", operator: "Gt", values: &["9223372036854775808"], label: Some("6"), fits: false },
        Case { name: "Gt, a sign is not a label value: unreadable", operator: "Gt", values: &["-5"], label: Some("6"), fits: false },
        Case { name: "Gt, two bounds: unreadable", operator: "Gt", values: &["1", "2"], label: Some("6"), fits: false },
        Case { name: "Gt, no bound: unreadable", operator: "Gt", values: &[], label: Some("6"), fits: false },
        Case { name: "Lt", operator: "Lt", values: &["5"], label: Some("4"), fits: true },
        Case { name: "Lt, equal", operator: "Lt", values: &["5"], label: Some("5"), fits: false },
        Case { name: "Lt, the label may have a sign", operator: "Lt", values: &["5"], label: Some("-4"), fits: true },
        Case { name: "unknown operator: unreadable", operator: "Near", values: &["5"], label: Some("5"), fits: false },
        Case { name: "operators are case-sensitive", operator: "in", values: &["a"], label: Some("a"), fits: false },
    ];
    for case in &cases {
        let pod = requiring(&[node_term(&[requirement("k", case.operator, case.values)])]);
        let list: Vec<(&str, &str)> = case.label.map(|label| ("k", label)).into_iter().collect();
        let verdict = filter(&pod, None, &labelled("n", &list));
        assert_eq!(verdict.is_none(), case.fits, "case: {}", case.name);
        if let Some(verdict) = verdict {
            assert_eq!(verdict.code, NaiveCode::UnschedulableAndUnresolvable);
            assert_eq!(verdict.reasons, ["node(s) didn't match Pod's node affinity/selector"]);
        }
    }
}

#[test]
fn required_term_cases() {
    struct Case {
        name: &'static str,
        pod: PodInput,
        pre_filter: NaivePreFilter,
        fits: bool,
    }
    let ssd = || requirement("disk", "In", &["ssd"]);
    let gpu = || requirement("gpu", "Exists", &[]);
    let bad_key = || requirement("not a key!", "Exists", &[]);
    let name_in = |values: &[&str]| requirement("metadata.name", "In", values);
    let both = |expressions: &[RequirementInput], fields: &[RequirementInput]| NodeSelectorTermInput {
        match_expressions: expressions.to_vec(),
        match_fields: fields.to_vec(),
    };
    // The node is n1 with disk=ssd.
    let all = NaivePreFilter::AllNodes;
    let conflict = NaivePreFilter::Reject(NaiveVerdict::new(
        NAME,
        NaiveCode::UnschedulableAndUnresolvable,
        "pod affinity terms conflict",
    ));
    #[rustfmt::skip]
    let cases = [
        Case { name: "nothing required", pod: PodInput::default(), pre_filter: NaivePreFilter::Skip, fits: true },
        Case { name: "affinity without required terms", pod: PodInput { node_affinity: Some(preferred(&[])), ..Default::default() }, pre_filter: NaivePreFilter::Skip, fits: true },
        Case { name: "an empty list of terms matches nothing", pod: requiring(&[]), pre_filter: all.clone(), fits: false },
        Case { name: "an empty term matches nothing", pod: requiring(&[node_term(&[])]), pre_filter: all.clone(), fits: false },
        Case { name: "an empty term beside one that matches", pod: requiring(&[node_term(&[]), node_term(&[ssd()])]), pre_filter: all.clone(), fits: true },
        Case { name: "all requirements of a term", pod: requiring(&[node_term(&[ssd(), requirement("gpu", "DoesNotExist", &[])])]), pre_filter: all.clone(), fits: true },
        Case { name: "one requirement of a term fails", pod: requiring(&[node_term(&[ssd(), gpu()])]), pre_filter: all.clone(), fits: false },
        Case { name: "one of two terms", pod: requiring(&[node_term(&[gpu()]), node_term(&[ssd()])]), pre_filter: all.clone(), fits: true },
        Case { name: "a bad key spoils its term", pod: requiring(&[node_term(&[ssd(), bad_key()])]), pre_filter: all.clone(), fits: false },
        Case { name: "a bad key spoils only its term", pod: requiring(&[node_term(&[bad_key()]), node_term(&[ssd()])]), pre_filter: all.clone(), fits: true },
        Case { name: "selector and affinity, both match", pod: PodInput { node_selector: Some(label_pairs(&[("disk", "ssd")])), ..requiring(&[node_term(&[ssd()])]) }, pre_filter: all.clone(), fits: true },
        Case { name: "selector and affinity, selector does not", pod: PodInput { node_selector: Some(label_pairs(&[("disk", "hdd")])), ..requiring(&[node_term(&[ssd()])]) }, pre_filter: all.clone(), fits: false },
        Case { name: "selector and affinity, affinity does not", pod: PodInput { node_selector: Some(label_pairs(&[("disk", "ssd")])), ..requiring(&[node_term(&[gpu()])]) }, pre_filter: all.clone(), fits: false },
        Case { name: "this node by name", pod: requiring(&[field_term(&[name_in(&["n1"])])]), pre_filter: names(&["n1"]), fits: true },
        Case { name: "another node by name", pod: requiring(&[field_term(&[name_in(&["n2"])])]), pre_filter: names(&["n2"]), fits: false },
        Case { name: "two terms by name", pod: requiring(&[field_term(&[name_in(&["n1"])]), field_term(&[name_in(&["n2"])])]), pre_filter: names(&["n1", "n2"]), fits: true },
        Case { name: "a name twice in a term", pod: requiring(&[field_term(&[name_in(&["n1"]), name_in(&["n1"])])]), pre_filter: names(&["n1"]), fits: true },
        Case { name: "two names in a term conflict", pod: requiring(&[field_term(&[name_in(&["n1"]), name_in(&["n2"])])]), pre_filter: conflict.clone(), fits: false },
        Case { name: "a conflict beside a name", pod: requiring(&[field_term(&[name_in(&["n1"]), name_in(&["n2"])]), field_term(&[name_in(&["n1"])])]), pre_filter: names(&["n1"]), fits: true },
        Case { name: "no names listed", pod: requiring(&[field_term(&[name_in(&[])])]), pre_filter: conflict, fits: false },
        Case { name: "two names listed: narrowed, then unreadable", pod: requiring(&[field_term(&[name_in(&["n1", "n2"])])]), pre_filter: names(&["n1", "n2"]), fits: false },
        Case { name: "another name, or the label", pod: requiring(&[field_term(&[name_in(&["n2"])]), node_term(&[ssd()])]), pre_filter: all.clone(), fits: true },
        Case { name: "another name and the label", pod: requiring(&[both(&[ssd()], &[name_in(&["n2"])])]), pre_filter: names(&["n2"]), fits: false },
        Case { name: "the name and the label", pod: requiring(&[both(&[ssd()], &[name_in(&["n1"])])]), pre_filter: names(&["n1"]), fits: true },
        Case { name: "another name, or another label", pod: requiring(&[field_term(&[name_in(&["n2"])]), node_term(&[gpu()])]), pre_filter: all.clone(), fits: false },
        Case { name: "not another node", pod: requiring(&[field_term(&[requirement("metadata.name", "NotIn", &["n2"])])]), pre_filter: all.clone(), fits: true },
        Case { name: "not this node", pod: requiring(&[field_term(&[requirement("metadata.name", "NotIn", &["n1"])])]), pre_filter: all.clone(), fits: false },
        Case { name: "fields know only In and NotIn", pod: requiring(&[field_term(&[requirement("metadata.name", "Exists", &[])])]), pre_filter: all.clone(), fits: false },
        Case { name: "another field is empty", pod: requiring(&[field_term(&[requirement("metadata.namespace", "In", &[""])])]), pre_filter: all.clone(), fits: true },
        Case { name: "another field is not something", pod: requiring(&[field_term(&[requirement("metadata.namespace", "In", &["n1"])])]), pre_filter: all, fits: false },
    ];
    for case in cases {
        assert_eq!(pre_filter(&case.pod, None), case.pre_filter, "case: {}", case.name);
        let verdict = filter(&case.pod, None, &labelled("n1", &[("disk", "ssd")]));
        assert_eq!(verdict.is_none(), case.fits, "case: {}", case.name);
    }
}

#[test]
fn added_affinity_is_enforced_before_the_pods_own() {
    let added = required(&[field_term(&[requirement("metadata.name", "In", &["n1"])])]);
    let pod = requiring(&[node_term(&[requirement("disk", "In", &["ssd"])])]);
    assert_eq!(pre_filter(&PodInput::default(), Some(&added)), NaivePreFilter::AllNodes);

    let reason = |node: &NaiveNode| filter(&pod, Some(&added), node).map(|v| v.reasons);
    assert_eq!(reason(&labelled("n1", &[("disk", "ssd")])), None);
    assert_eq!(
        reason(&labelled("n1", &[])),
        Some(strings(&["node(s) didn't match Pod's node affinity/selector"]))
    );
    assert_eq!(
        reason(&labelled("n2", &[])),
        Some(strings(&["node(s) didn't match scheduler-enforced node affinity"]))
    );
}

#[test]
fn score_cases() {
    struct Case {
        name: &'static str,
        own: Option<NodeAffinityInput>,
        added: Option<NodeAffinityInput>,
        pre_score: Result<NaiveNodeAffinityPreScore, UnreadableTerm>,
        raw: &'static [i64],
        normal: &'static [i64],
    }
    let ssd = || node_term(&[requirement("disk", "In", &["ssd"])]);
    let gpu = || node_term(&[requirement("gpu", "Exists", &[])]);
    let big = || node_term(&[requirement("cores", "Gt", &["8"])]);
    let broken = || node_term(&[requirement("disk", "Near", &["ssd"])]);
    // n1: disk=ssd; n2: disk=ssd, gpu; n3: gpu, cores=16.
    #[rustfmt::skip]
    let cases = [
        Case { name: "no affinity", own: None, added: None, pre_score: Ok(NaiveNodeAffinityPreScore::Skip), raw: &[0, 0, 0], normal: &[0, 0, 0] },
        Case { name: "required terms only", own: Some(required(&[ssd()])), added: None, pre_score: Ok(NaiveNodeAffinityPreScore::Skip), raw: &[0, 0, 0], normal: &[0, 0, 0] },
        Case { name: "an empty list is not absent", own: Some(preferred(&[])), added: None, pre_score: Ok(NaiveNodeAffinityPreScore::Run), raw: &[0, 0, 0], normal: &[0, 0, 0] },
        Case { name: "no node matches", own: Some(preferred(&[(4, node_term(&[requirement("zone", "Exists", &[])]))])), added: None, pre_score: Ok(NaiveNodeAffinityPreScore::Run), raw: &[0, 0, 0], normal: &[0, 0, 0] },
        Case { name: "one node matches", own: Some(preferred(&[(4, big())])), added: None, pre_score: Ok(NaiveNodeAffinityPreScore::Run), raw: &[0, 0, 4], normal: &[0, 0, 100] },
        Case { name: "weights add up", own: Some(preferred(&[(2, ssd()), (3, gpu()), (5, big())])), added: None, pre_score: Ok(NaiveNodeAffinityPreScore::Run), raw: &[2, 5, 8], normal: &[25, 62, 100] },
        Case { name: "an empty term counts for nothing", own: Some(preferred(&[(9, node_term(&[])), (1, ssd())])), added: None, pre_score: Ok(NaiveNodeAffinityPreScore::Run), raw: &[1, 1, 0], normal: &[100, 100, 0] },
        Case { name: "by name", own: Some(preferred(&[(7, field_term(&[requirement("metadata.name", "In", &["n2"])]))])), added: None, pre_score: Ok(NaiveNodeAffinityPreScore::Run), raw: &[0, 7, 0], normal: &[0, 100, 0] },
        Case { name: "unreadable term", own: Some(preferred(&[(1, ssd()), (2, broken())])), added: None, pre_score: Err(UnreadableTerm), raw: &[1, 1, 0], normal: &[100, 100, 0] },
        Case { name: "unreadable term without weight", own: Some(preferred(&[(1, ssd()), (0, broken())])), added: None, pre_score: Ok(NaiveNodeAffinityPreScore::Run), raw: &[1, 1, 0], normal: &[100, 100, 0] },
        Case { name: "the scheduler's own terms", own: None, added: Some(preferred(&[(3, ssd())])), pre_score: Ok(NaiveNodeAffinityPreScore::Run), raw: &[3, 3, 0], normal: &[100, 100, 0] },
        Case { name: "an empty list of added terms", own: None, added: Some(preferred(&[])), pre_score: Ok(NaiveNodeAffinityPreScore::Skip), raw: &[0, 0, 0], normal: &[0, 0, 0] },
        Case { name: "both", own: Some(preferred(&[(1, gpu())])), added: Some(preferred(&[(3, ssd())])), pre_score: Ok(NaiveNodeAffinityPreScore::Run), raw: &[3, 4, 1], normal: &[75, 100, 25] },
    ];
    let nodes = [
        labelled("n1", &[("disk", "ssd")]),
        labelled("n2", &[("disk", "ssd"), ("gpu", "a")]),
        labelled("n3", &[("gpu", "b"), ("cores", "16")]),
    ];
    for case in cases {
        let pod = PodInput { node_affinity: case.own, ..Default::default() };
        let added = case.added.as_ref();
        assert_eq!(pre_score(&pod, added), case.pre_score, "case: {}", case.name);
        let raw: Vec<i64> = nodes.iter().map(|node| score(&pod, added, node)).collect();
        assert_eq!(raw, case.raw, "case: {}", case.name);
        assert_eq!(normalize(&raw), case.normal, "case: {}", case.name);
    }
}

#[test]
fn execution_affinity_is_required_at_scheduling() {
    let term_of = |value: &str| vec![node_term(&[requirement("app", "In", &[value])])];
    let pod = |required: Option<&str>, during_execution: &str| PodInput {
        node_affinity: Some(NodeAffinityInput {
            required: required.map(term_of),
            required_during_execution: Some(term_of(during_execution)),
            ..NodeAffinityInput::default()
        }),
        ..PodInput::default()
    };
    let cases = [
        ("it holds", pod(None, "cache"), true),
        ("it does not", pod(None, "web"), false),
        ("both hold", pod(Some("cache"), "cache"), true),
        ("only the other holds", pod(Some("cache"), "web"), false),
        ("only this holds", pod(Some("web"), "cache"), false),
    ];
    for (name, pod, fits) in cases {
        assert_eq!(pre_filter(&pod, None), NaivePreFilter::AllNodes, "case: {name}");
        let verdict = filter(&pod, None, &labelled("n", &[("app", "cache")]));
        assert_eq!(verdict.is_none(), fits, "case: {name}");
    }
}
