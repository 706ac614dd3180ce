//! From files that are read to files that perhaps are not.

use serde_json::{Map, Value, json};

use crate::corpus::Seed;
use crate::rng::Rng;

/// Inputs stay below this: what is long is tried once, by a seed, not ten million times.
const BYTES_MAX: usize = 64 << 10;

/// Texts that have broken readers before, here or elsewhere.
const TOKENS: &[&str] = &[
    "&a ",
    "*a",
    "<<: *a",
    "!!binary ",
    "!!float ",
    "|",
    ">-",
    "---\n",
    "...\n",
    "%YAML 9.9\n",
    "\t",
    "\u{feff}",
    "? ",
    "{",
    "}",
    "[",
    "]",
    "[[[[[[[[",
    "{{",
    "}}",
    "{{.Index}}",
    "{{ div 1 0 }}",
    "{{range .}}",
    "{{end}}",
    "{{ .Count }}",
    "\"",
    "'",
    "\\u0000",
    "\\ud800",
    "\0",
    "\u{1b}[2J",
    "\u{202e}",
    "\r\n",
    ": ",
    "- ",
    ",",
    "#",
    "null",
    "true",
    "~",
    "NaN",
    "inf",
    "-0",
    "1e999",
    "9223372036854775808",
    "-9223372036854775809",
    "0x",
    "1_000",
    "\u{1F600}",
];

/// Values in the place of others.
fn hostile(rng: &mut Rng) -> Value {
    const NUMBERS: &[i64] =
        &[0, 1, -1, 2, 99, 100, 101, 65535, 65536, 1 << 31, -(1 << 31) - 1, 1 << 53, i64::MAX, i64::MIN];
    const TEXTS: &[&str] = &[
        "",
        "0",
        "-1",
        "-1Gi",
        "1e30Gi",
        "0.0000000001",
        "1n",
        "99999999999999999999999",
        "Ei",
        "1Ei",
        "100m",
        "+",
        ".",
        "../../x",
        "/etc/passwd",
        "a\0b",
        "NUL",
        "Foo",
        "In",
        "Exists",
        "DoesNotExist",
        "Gt",
        "Lt",
        "NotIn",
        "Equal",
        "NoExecute",
        "$param",
        "$",
        "{{.Index}}",
        "{{",
        "\u{1b}[2J",
        "metadata.name",
        "kubernetes.io/hostname",
        "zone",
        "2026-11-15T12:30:45Z",
        "9999-99-99T99:99:99Z",
        "createPods",
        "createNodes",
        "barrier",
        "churn",
        "1h",
        "-5s",
        "9999999999999h",
        "default-scheduler",
        "NodeResourcesFit",
        "*",
        "DoNotSchedule",
        "ScheduleAnyway",
        "Honor",
    ];
    match rng.below(12) {
        0..=3 => json!(rng.pick(NUMBERS)),
        4..=7 => json!(rng.pick(TEXTS)),
        8 => json!(rng.pick(&[0.5, -0.0, 1e308, 5e-324, -1.5, 1e19])),
        9 => rng.pick(&[Value::Null, json!(true), json!(false), json!([]), json!({})]).clone(),
        10 => json!("x".repeat(1 << rng.below(12))),
        _ => (0..rng.below(140)).fold(json!(1), |inner, _| json!([inner])),
    }
}

/// An input from seeds.
pub(crate) fn mutated(seeds: &[Seed], rng: &mut Rng) -> Vec<u8> {
    let seed = rng.pick(seeds);
    let tree = if rng.one_in(3) { None } else { seed.tree.clone() };
    let rounds = 1 + rng.below(4);
    let Some(mut tree) = tree else {
        let mut bytes = seed.bytes.clone();
        (0..rounds).for_each(|_| mutate_bytes(&mut bytes, seeds, rng));
        return bytes;
    };
    for _ in 0..rounds {
        mutate_tree(&mut tree, seeds, rng);
    }
    let mut bytes = tree.to_string().into_bytes();
    if rng.one_in(8) {
        mutate_bytes(&mut bytes, seeds, rng);
    }
    bytes.truncate(BYTES_MAX.max(seed.bytes.len()));
    bytes
}

/// JSON or YAML as a tree. YAML that is written back as JSON is still YAML.
pub(crate) fn read_tree(seed: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(seed).ok()?;
    if text.trim_start().starts_with(['{', '[']) {
        return serde_json::from_str(text).ok();
    }
    let tree: Value = serde_saphyr::from_str(text).ok()?;
    (tree.is_object() || tree.is_array()).then_some(tree)
}

fn mutate_tree(tree: &mut Value, seeds: &[Seed], rng: &mut Rng) {
    let other = if rng.one_in(6) { rng.pick(seeds).tree.clone() } else { None };
    let other = other.map(|mut other| subtree(&mut other, rng).take());
    let place = subtree(tree, rng);
    match (rng.below(8), place) {
        (0..=2, place) => *place = hostile(rng),
        (3, place) if other.is_some() => *place = other.unwrap_or_default(),
        (3 | 4, Value::Object(fields)) => change_key(fields, rng),
        (4 | 5, Value::Array(items)) if !items.is_empty() => {
            let item = rng.pick(items).clone();
            let times = if rng.one_in(20) { 200 } else { 1 };
            (0..times).for_each(|_| items.push(item.clone()));
        }
        (6, Value::Array(items)) if !items.is_empty() => drop(items.remove(rng.below(items.len()))),
        (_, Value::Object(fields)) if !fields.is_empty() => {
            let name = nth_key(fields, rng);
            fields.remove(&name);
        }
        (_, place) => *place = hostile(rng),
    }
}

fn nth_key(fields: &Map<String, Value>, rng: &mut Rng) -> String {
    fields.keys().nth(rng.below(fields.len())).cloned().unwrap_or_default()
}

fn change_key(fields: &mut Map<String, Value>, rng: &mut Rng) {
    let value = if fields.is_empty() || rng.one_in(3) {
        hostile(rng)
    } else {
        let name = nth_key(fields, rng);
        fields.remove(&name).unwrap_or_default()
    };
    let name = match hostile(rng) {
        Value::String(name) => name,
        other => other.to_string(),
    };
    fields.insert(name, value);
}

/// A place in a tree, any with some chance.
fn subtree<'a>(tree: &'a mut Value, rng: &mut Rng) -> &'a mut Value {
    let mut place = tree;
    loop {
        let is_leaf = match &*place {
            Value::Object(fields) => fields.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => true,
        };
        if is_leaf || rng.one_in(6) {
            return place;
        }
        place = match place {
            Value::Object(fields) => {
                let at = rng.below(fields.len());
                fields.values_mut().nth(at).expect("below the number of fields")
            }
            Value::Array(items) => {
                let at = rng.below(items.len());
                &mut items[at]
            }
            _ => unreachable!("a leaf was returned"),
        };
    }
}

fn mutate_bytes(bytes: &mut Vec<u8>, seeds: &[Seed], rng: &mut Rng) {
    let at = if bytes.is_empty() { 0 } else { rng.below(bytes.len()) };
    let length = (bytes.len() - at).min(1 << rng.below(9));
    match rng.below(8) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << rng.below(8),
        1 => drop(bytes.drain(at..at + length)),
        2 => {
            let copy = bytes[at..at + length].to_vec();
            bytes.splice(at..at, copy);
        }
        3 => bytes.truncate(at),
        4 => {
            let other = &rng.pick(seeds).bytes;
            let from = if other.is_empty() { 0 } else { rng.below(other.len()) };
            let part = &other[from..other.len().min(from + 256)];
            bytes.splice(at..at, part.iter().copied());
        }
        5 if !bytes.is_empty() => bytes[at] = rng.next() as u8,
        _ => {
            let token = rng.pick(TOKENS).as_bytes();
            bytes.splice(at..at, token.iter().copied());
        }
    }
    bytes.truncate(BYTES_MAX.max(length));
}
