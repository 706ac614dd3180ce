//! How many feasible nodes are enough.

/// Below this many nodes all are looked at. Upstream: schedule_one.go `minFeasibleNodesToFind`.
const FEASIBLE_NODES_MIN: usize = 100;
/// Upstream: `minFeasibleNodesPercentageToFind`.
const FEASIBLE_PERCENT_MIN: i64 = 5;

/// Upstream: schedule_one.go `numFeasibleNodesToFind`. Keep the integer divisions: they decide how
/// many nodes are visited, and so which node wins.
#[must_use]
pub fn num_feasible_nodes_to_find(percentage: i32, node_count: usize) -> usize {
    if node_count < FEASIBLE_NODES_MIN {
        return node_count;
    }
    let nodes = i64::try_from(node_count).expect("node counts fit i64");
    let percentage = match percentage {
        // Signed on purpose: from 6,375 nodes on the difference is negative before the clamp.
        0 => (50 - nodes / 125).max(FEASIBLE_PERCENT_MIN),
        given => i64::from(given),
    };
    debug_assert!((0..=100).contains(&percentage), "a percentage was checked when it was read");
    let enough = usize::try_from(nodes * percentage / 100).unwrap_or(0).max(FEASIBLE_NODES_MIN);
    debug_assert!(enough <= node_count, "no more nodes are found than there are");
    enough
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn num_feasible_nodes_to_find_cases() {
        let cases = [
            (0, 10, 10, "small clusters are searched whole"),
            (40, 99, 99, "whatever the percentage"),
            (0, 100, 100, "at least a hundred"),
            (0, 1000, 420, "42 percent"),
            (0, 5000, 500, "10 percent"),
            (0, 6000, 300, "5 percent is the floor"),
            (0, 15_000, 750, "5 percent"),
            (40, 1000, 400, "a given percentage is taken"),
            (5, 1000, 100, "but never fewer than a hundred"),
            (100, 5000, 5000, "all"),
        ];
        for (percentage, nodes, expected, name) in cases {
            assert_eq!(num_feasible_nodes_to_find(percentage, nodes), expected, "case: {name}");
        }
    }
}
