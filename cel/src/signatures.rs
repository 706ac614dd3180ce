//! Every function with its overloads: what it takes and what it gives.
//!
//! Upstream: cel-go common/stdlib, ext/{strings,lists,sets}.go, cel/library.go; apiserver/pkg/cel/library
//! {lists,regex,quantity,semverlib}.go.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::types::Type;

/// One way to call a function.
#[derive(Clone, Debug)]
pub(crate) struct Overload {
    /// It is called with a target, which is the first parameter.
    pub(crate) is_member: bool,
    pub(crate) params: Vec<Type>,
    pub(crate) result: Type,
}

/// `target.name params -> result`; a line may name several overloads of one shape.
#[rustfmt::skip]
const SIGNATURES: &[&str] = &[
    // Operators.
    "! bool -> bool",
    "- int -> int", "- double -> double",
    "== A A -> bool", "!= A A -> bool",
    "in A list(A) -> bool", "in A map(A,B) -> bool",
    "+ int int -> int", "+ uint uint -> uint", "+ double double -> double", "+ string string -> string",
    "+ bytes bytes -> bytes", "+ list(A) list(A) -> list(A)",
    "- int int -> int", "- uint uint -> uint", "- double double -> double",
    "* int int -> int", "* uint uint -> uint", "* double double -> double",
    "/ int int -> int", "/ uint uint -> uint", "/ double double -> double",
    "% int int -> int", "% uint uint -> uint",
    "< bool bool -> bool", "< int int -> bool", "< int uint -> bool", "< int double -> bool",
    "< uint uint -> bool", "< uint int -> bool", "< uint double -> bool",
    "< double double -> bool", "< double int -> bool", "< double uint -> bool",
    "< string string -> bool", "< bytes bytes -> bool",
    // Conversions.
    "int int -> int", "int uint -> int", "int double -> int", "int string -> int",
    "uint uint -> uint", "uint int -> uint", "uint double -> uint", "uint string -> uint",
    "double double -> double", "double int -> double", "double uint -> double", "double string -> double",
    "string string -> string", "string int -> string", "string uint -> string", "string double -> string",
    "string bool -> string", "string bytes -> string",
    "bytes bytes -> bytes", "bytes string -> bytes",
    "bool bool -> bool", "bool string -> bool",
    "dyn A -> dyn", "type A -> type",
    // Sizes and texts.
    "size string -> int", "size bytes -> int", "size list(A) -> int", "size map(A,B) -> int",
    ".size string -> int", ".size bytes -> int", ".size list(A) -> int", ".size map(A,B) -> int",
    ".contains string string -> bool", ".startsWith string string -> bool", ".endsWith string string -> bool",
    "matches string string -> bool", ".matches string string -> bool",
    ".charAt string int -> string",
    ".indexOf string string -> int", ".indexOf string string int -> int",
    ".lastIndexOf string string -> int", ".lastIndexOf string string int -> int",
    ".lowerAscii string -> string", ".upperAscii string -> string", ".trim string -> string",
    ".replace string string string -> string", ".replace string string string int -> string",
    ".split string string -> list(string)", ".split string string int -> list(string)",
    ".substring string int -> string", ".substring string int int -> string",
    ".join list(string) -> string", ".join list(string) string -> string",
    ".find string string -> string", ".findAll string string -> list(string)",
    ".findAll string string int -> list(string)",
    // Lists.
    ".isSorted list(int) -> bool", ".isSorted list(uint) -> bool", ".isSorted list(double) -> bool",
    ".isSorted list(bool) -> bool", ".isSorted list(string) -> bool",
    ".sum list(int) -> int", ".sum list(uint) -> uint", ".sum list(double) -> double",
    ".min list(int) -> int", ".min list(uint) -> uint", ".min list(double) -> double",
    ".min list(bool) -> bool", ".min list(string) -> string",
    ".max list(int) -> int", ".max list(uint) -> uint", ".max list(double) -> double",
    ".max list(bool) -> bool", ".max list(string) -> string",
    ".indexOf list(A) A -> int", ".lastIndexOf list(A) A -> int",
    ".slice list(A) int int -> list(A)", ".distinct list(A) -> list(A)", ".reverse list(A) -> list(A)",
    ".flatten list(list(A)) -> list(A)", ".flatten list(dyn) -> list(dyn)",
    ".first list(A) -> optional(A)", ".last list(A) -> optional(A)", "lists.range int -> list(int)",
    ".sort list(int) -> list(int)", ".sort list(uint) -> list(uint)", ".sort list(double) -> list(double)",
    ".sort list(bool) -> list(bool)", ".sort list(string) -> list(string)",
    "sets.contains list(A) list(A) -> bool", "sets.equivalent list(A) list(A) -> bool",
    "sets.intersects list(A) list(A) -> bool",
    ".includes dyn dyn -> bool",
    // Optional values.
    "optional.of A -> optional(A)", "optional.ofNonZeroValue A -> optional(A)", "optional.none -> optional(A)",
    ".hasValue optional(A) -> bool", ".value optional(A) -> A", ".or optional(A) optional(A) -> optional(A)",
    ".orValue optional(A) A -> A",
    // Quantities.
    "quantity string -> quantity", "isQuantity string -> bool",
    ".sign quantity -> int", ".isGreaterThan quantity quantity -> bool", ".isLessThan quantity quantity -> bool",
    ".compareTo quantity quantity -> int", ".asApproximateFloat quantity -> double",
    ".asInteger quantity -> int", ".isInteger quantity -> bool",
    ".add quantity quantity -> quantity", ".add quantity int -> quantity",
    ".sub quantity quantity -> quantity", ".sub quantity int -> quantity",
    // Semantic versions.
    "semver string -> semver", "semver string bool -> semver",
    "isSemver string -> bool", "isSemver string bool -> bool",
    ".isGreaterThan semver semver -> bool", ".isLessThan semver semver -> bool", ".compareTo semver semver -> int",
    ".major semver -> int", ".minor semver -> int", ".patch semver -> int",
];

/// The overloads of a function.
pub(crate) fn overloads(function: &str) -> Option<&'static [Overload]> {
    static TABLE: OnceLock<BTreeMap<&'static str, Vec<Overload>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table: BTreeMap<&'static str, Vec<Overload>> = BTreeMap::new();
        for signature in SIGNATURES {
            let (head, result) = signature.split_once(" -> ").expect("a signature has a result");
            let mut words = head.split(' ');
            let name = words.next().expect("a signature has a name");
            let params: Vec<Type> = words.map(Type::read).collect();
            let plain = name.strip_prefix('.').unwrap_or(name);
            let overload =
                Overload { is_member: plain.len() < name.len(), params, result: Type::read(result) };
            table.entry(plain).or_default().push(overload);
        }
        let less = table["<"].clone();
        for other in ["<=", ">", ">="] {
            table.insert(other, less.clone());
        }
        table
    });
    table.get(function).map(Vec::as_slice)
}
