//! NodeUnschedulable: cordoned nodes are only for pods that tolerate the taint of that name.
//!
//! Upstream: plugins/nodeunschedulable/node_unschedulable.go.

pub(crate) use super::NAME;
use crate::input::{PodInput, TaintInput};
use crate::naive::{Code, NaiveNode, Verdict};
use crate::plugins::taint_toleration::naive::is_tolerated;

/// Rejects a cordoned node.
#[must_use]
pub fn filter(pod: &PodInput, node: &NaiveNode) -> Option<Verdict> {
    let cordon = TaintInput {
        key: "node.kubernetes.io/unschedulable".to_owned(),
        value: String::new(),
        effect: "NoSchedule".to_owned(),
    };
    if !node.input.unschedulable || is_tolerated(&cordon, &pod.tolerations) {
        return None;
    }
    Some(Verdict::new(NAME, Code::UnschedulableAndUnresolvable, "node(s) were unschedulable"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{NodeInput, TolerationInput};
    use crate::naive::testing::{empty, node, toleration};

    #[test]
    fn node_unschedulable_cases() {
        struct Case {
            name: &'static str,
            unschedulable: bool,
            tolerations: Vec<TolerationInput>,
            fits: bool,
        }
        let key = "node.kubernetes.io/unschedulable";
        #[rustfmt::skip]
        let cases = [
            Case { name: "open node", unschedulable: false, tolerations: vec![], fits: true },
            Case { name: "cordoned node", unschedulable: true, tolerations: vec![], fits: false },
            Case { name: "tolerated by key and effect", unschedulable: true, tolerations: vec![toleration(key, "", "", "NoSchedule")], fits: true },
            Case { name: "tolerated by key", unschedulable: true, tolerations: vec![toleration(key, "Exists", "", "")], fits: true },
            Case { name: "everything tolerated", unschedulable: true, tolerations: vec![toleration("", "Exists", "", "")], fits: true },
            Case { name: "only NoExecute tolerated", unschedulable: true, tolerations: vec![toleration(key, "Exists", "", "NoExecute")], fits: false },
            Case { name: "another key tolerated", unschedulable: true, tolerations: vec![toleration("gpu", "Exists", "", "")], fits: false },
        ];
        for case in cases {
            let node = empty(NodeInput { unschedulable: case.unschedulable, ..node("n", &[]) });
            let pod = PodInput { tolerations: case.tolerations, ..Default::default() };
            assert_eq!(filter(&pod, &node).is_none(), case.fits, "case: {}", case.name);
        }
    }
}
