//! Expressions, what they mean, and how they fail.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use schedlab_core::input::dra::{DeviceAttributeInput, DeviceCapacityInput, SelectedDevice, SelectorError};
use schedlab_core::quantity::Quantity;

use super::selector;

/// What an expression comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Selects,
    Leaves,
    DoesNotCompile,
    Fails,
}

use Outcome::{DoesNotCompile, Fails, Leaves, Selects};

fn outcome(expression: &str) -> Outcome {
    let attribute = |name: &str, value: DeviceAttributeInput| (Arc::<str>::from(name), value);
    let attributes = BTreeMap::from([
        attribute("model", DeviceAttributeInput::String("a100".into())),
        attribute("index", DeviceAttributeInput::Int(3)),
        attribute("ecc", DeviceAttributeInput::Bool(true)),
        attribute("version", DeviceAttributeInput::Version("2.1.0".into())),
        attribute("other.org/tier", DeviceAttributeInput::String("gold".into())),
    ]);
    let memory = DeviceCapacityInput { value: Quantity::parse("40Gi").unwrap(), request_policy: None };
    let capacity = BTreeMap::from([(Arc::<str>::from("memory"), memory)]);
    let device = SelectedDevice {
        driver: "gpu",
        allow_multiple_allocations: false,
        attributes: &attributes,
        capacity: &capacity,
    };
    match selector(expression).program.matches(device) {
        Ok(true) => Selects,
        Ok(false) => Leaves,
        Err(SelectorError::Compile(_)) => DoesNotCompile,
        Err(SelectorError::Runtime(_)) => Fails,
    }
}

/// Upstream: dynamic-resource-allocation/cel/compile_test.go, and what the recorded traces have.
#[test]
fn selector_cases() {
    let cases = [
        ("true", Selects),
        ("?!", DoesNotCompile),
        ("1", DoesNotCompile),
        ("device.driver == 'gpu'", Selects),
        ("device.driver == 3", DoesNotCompile),
        ("true || device.driver == 3", DoesNotCompile),
        ("device.nothing", DoesNotCompile),
        ("device.allowMultipleAllocations == false", Selects),
        ("!(device.driver in ['nic'])", Selects),
        // Attributes.
        (r#"device.attributes["gpu"].model == "a100""#, Selects),
        (r#"device.attributes["gpu"]["model"] == "a100""#, Selects),
        (r#"device.attributes["gpu"].model > 3"#, Fails),
        (r#"device.attributes["gpu"].model = "a100""#, DoesNotCompile),
        (r#"device.attributes["gpu"].model.noSuchFunction()"#, DoesNotCompile),
        (r#"device.attributes["gpu"].ecc"#, Selects),
        (r#"device.attributes["gpu"].index"#, Fails),
        (r#"device.attributes["gpu"].index * 2 + 1 < 8 && device.attributes["gpu"].index % 2 == 1"#, Selects),
        (r#"device.attributes["other.org"].tier == "gold""#, Selects),
        (r#"device.attributes["unknown"].x == 1"#, Fails),
        (r#"device.attributes["unknown"].size() == 0"#, Selects),
        (r#"has(device.attributes["unknown"].x)"#, Leaves),
        (r#""unknown" in device.attributes"#, Leaves),
        (r#""other.org" in device.attributes && device.attributes["other.org"].size() > 0"#, Selects),
        (r#""ecc" in device.attributes["gpu"] && !device.attributes["gpu"].ecc"#, Leaves),
        (r#"device.attributes["gpu"].?numa.orValue(7) == 7"#, Selects),
        (r#"device.attributes["gpu"].?ecc.orValue(false)"#, Selects),
        (r#"device.attributes.exists_one(x, x == "gpu")"#, Selects),
        (r#"["a100", "l4"].exists(m, m == device.attributes["gpu"].model)"#, Selects),
        (r#"["t4"].all(m, m != device.attributes["gpu"].model)"#, Selects),
        (r#"device.attributes["gpu"].model.exists(x, x == "fish")"#, Fails),
        (r#"device.attributes["gpu"].model.includes("a100")"#, Selects),
        (r#"cel.bind(dra, device.attributes["gpu"], dra.model != "t4" && dra.index == 3)"#, Selects),
        (r#"device.attributes["gpu"].index == 1 ? false : true"#, Selects),
        // Texts.
        (r#"size(device.attributes["gpu"].model) == 4"#, Selects),
        (r#"device.attributes["gpu"].model.upperAscii().contains("A1")"#, Selects),
        (r#"device.attributes["gpu"].model.matches("^(a|h)100$")"#, Selects),
        (r#"device.attributes["gpu"].model.matches("(")"#, Fails),
        (r#"device.attributes["gpu"].model.split("1").size() == 2"#, Selects),
        (
            r#""hello".substring(1, 3) == "el" && "hello".indexOf("l") == 2 && "hello".lastIndexOf("l") == 3"#,
            Selects,
        ),
        (r#"["a", "b"].join("-") == 'a-b' && "a".charAt(1) == "" && "abc".find("b.") == "bc""#, Selects),
        (
            r#""\u00e9\x41\101\n" == 'éAA
'"#,
            DoesNotCompile,
        ),
        (r#""\u00e9\x41\101" == 'éAA' && r"\n" == '\\n' && b"a" == bytes("a")"#, Selects),
        // Capacity.
        (r#"device.capacity["gpu"].memory == quantity("40960Mi")"#, Selects),
        (r#"device.capacity["gpu"].memory.compareTo(quantity("24Gi")) >= 0"#, Selects),
        (r#"device.capacity["gpu"].memory.sub(quantity("8Gi")).asInteger() > 17179869184"#, Selects),
        (r#"device.capacity["gpu"].memory.isLessThan(quantity("48G"))"#, Selects),
        (r#"device.capacity["gpu"].memory > quantity("1")"#, DoesNotCompile),
        (r#"device.capacity["gpu"].cores.isGreaterThan(quantity("100"))"#, Fails),
        (r#"quantity("much").sign() == 1"#, Fails),
        (
            r#"isQuantity("1.5") && !quantity("1.5").isInteger() && quantity("1.5").add(1).asApproximateFloat() == 2.5"#,
            Selects,
        ),
        // Versions.
        (r#"device.attributes["gpu"].version == semver("2.1.0")"#, Selects),
        (r#"device.attributes["gpu"].version.isGreaterThan(semver("1.2.0"))"#, Selects),
        (r#"device.attributes["gpu"].version.major() == 2 || false"#, Selects),
        (
            r#"device.attributes["gpu"].version.compareTo(semver("v2.1", true)) == 0 && !isSemver("2.1")"#,
            Selects,
        ),
        // A side that decides makes up for a fault of the other.
        (r#"device.attributes["gpu"].numa == 1 || true"#, Selects),
        (r#"true || device.attributes["gpu"].numa == 1"#, Selects),
        (r#"device.attributes["gpu"].numa == 1 && false"#, Leaves),
        (r#"device.attributes["gpu"].numa == 1 && true"#, Fails),
        (r#"[1, 2].exists(x, x == 2 || device.attributes["gpu"].numa == x)"#, Selects),
        (r#"[1, 2].map(x, device.attributes["gpu"].numa).size() == 2"#, Fails),
        // Numbers.
        ("1 == 1.0 && 1u == 1 && 2 < 2.5 && -1 < 0u", DoesNotCompile),
        ("dyn(1) == 1.0 && dyn(1u) == 1 && 2 < 2.5 && -1 < 0u", Selects),
        ("9223372036854775807 + 1 > 0", Fails),
        ("1 / 0 == 1", Fails),
        ("-9223372036854775808 < 0 && 0x1f == 31 && 7 % 4 == 3 && -7 / 2 == -3", Selects),
        ("9223372036854775808 > 0", DoesNotCompile),
        ("int('7') == 7 && string(7) == '7' && double('1.5') > 1.0 && type(1) == int", Selects),
        // Lists, maps, optional values.
        ("[1, 'a'].size() == 2", DoesNotCompile),
        ("{'a': 1}.a == 1 && {'a': 1}['a'] == 1 && [3, 1, 2].sort() == [1, 2, 3] && [1, 2][1] == 2", Selects),
        ("[1, 2][2] == 1", Fails),
        (
            "[1, 2, 3].filter(x, x > 1).map(x, x * 2) == [4, 6] && [1, 2, 3].map(x, x > 1, x) == [2, 3]",
            Selects,
        ),
        (
            "[1, 2, 2].sum() == 5 && [2, 1].min() == 1 && ![2, 1].isSorted() && [1, 2, 2].distinct().size() == 2",
            Selects,
        ),
        (
            "sets.contains([1, 2], [2]) && sets.equivalent([1, 2], [2, 1, 1]) && !sets.intersects([1], [2])",
            Selects,
        ),
        (
            "optional.of(1).optMap(x, x + 1).value() == 2 && !optional.none().hasValue() && [?optional.none(), 1] == [1]",
            Selects,
        ),
        ("optional.none().value() == 1", Fails),
        // Grammar.
        ("!!true && !false && (1 + 2) * 3 == 9 // a remark", Selects),
        ("true ? 1 : 2", DoesNotCompile),
        ("undeclared == 1", DoesNotCompile),
        ("true &&", DoesNotCompile),
        ("for == 1", DoesNotCompile),
        ("'open", DoesNotCompile),
        ("device.attributes", DoesNotCompile),
        ("", DoesNotCompile),
    ];
    for (expression, expected) in cases {
        assert_eq!(outcome(expression), expected, "{expression}");
    }
}

#[test]
fn expressions_with_libraries_that_are_not_built_do_not_compile() {
    for expression in [
        "timestamp('2026-01-01T00:00:00Z') < timestamp('2027-01-01T00:00:00Z')",
        "duration('1h') > duration('1m')",
        "url('https://example.com').getHost() == 'example.com'",
        "ip('10.0.0.1').family() == 4",
        "cidr('10.0.0.0/8').containsIP('10.0.0.1')",
        "format.dns1123Label().validate('a').hasValue()",
        "'%d'.format([1]) == '1'",
        "[1, 2].all(at, it, it > at)",
        "[2, 1].sortBy(it, it) == [1, 2]",
    ] {
        assert_eq!(outcome(expression), DoesNotCompile, "{expression}");
    }
}

#[test]
fn endless_expression_is_cut_off_and_a_deep_one_is_refused() {
    let ten = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
    let deep = (0..7).fold("true".to_owned(), |inner, at| format!("{ten}.all(x{at}, {inner})"));
    assert_eq!(outcome(&deep), Fails);
    let nested = format!("{}true{}", "(".repeat(1000), ")".repeat(1000));
    assert_eq!(outcome(&nested), DoesNotCompile);
}

proptest! {
    #[test]
    fn any_text_has_an_outcome(text in "[ -~éλ\\n]{0,60}") {
        outcome(&text);
    }

    #[test]
    fn any_row_of_words_has_an_outcome(words in prop::collection::vec(prop::sample::select(vec![
        "device", ".", "attributes", "[", "]", "\"gpu\"", "(", ")", "==", "!", "&&", "||", "1", "2.5", "'a'", "?", ":",
        "model", "in", "exists", "x", ",", "{", "}", "has", "-", "+", "quantity", "true", "size",
    ]), 0..24)) {
        outcome(&words.join(" "));
    }
}
