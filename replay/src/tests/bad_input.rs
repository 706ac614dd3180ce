//! Files that are not traces.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("writing to memory");
    encoder.finish().expect("writing to memory")
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(bytes), &mut plain)
        .expect("a committed trace");
    plain
}

#[test]
fn compression_is_recognised_by_content() {
    let bytes = std::fs::read(committed().join("node-name-1.json.gz")).expect("a committed trace");
    let from_gzip = parse_trace("a.json", &bytes).expect("gzip under any name");
    let from_plain = parse_trace("a.json.gz", &unpacked(&bytes)).expect("plain under any name");
    assert_eq!(from_gzip.steps.len(), from_plain.steps.len());
    assert_eq!((from_plain.family.as_str(), from_plain.seed), ("node-name", 1));
}

#[test]
fn bad_files_are_errors_that_say_what_to_do() {
    let gzip = std::fs::read(committed().join("node-name-1.json.gz")).expect("a committed trace");
    let json = unpacked(&gzip);
    let text = String::from_utf8(json.clone()).expect("JSON is UTF-8");
    let flipped = {
        let mut bytes = gzip.clone();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0xff;
        bytes
    };
    struct Case {
        name: &'static str,
        bytes: Vec<u8>,
        message: &'static str,
    }
    let cases = [
        Case { name: "empty file", bytes: Vec::new(), message: "t: the file is empty; copy the trace again" },
        Case { name: "blank file", bytes: b" \n".to_vec(), message: "t: the file is empty" },
        Case { name: "empty gzip", bytes: packed(b""), message: "t: the file is empty" },
        Case {
            name: "truncated gzip",
            bytes: gzip[..gzip.len() / 2].to_vec(),
            message: "t: the gzip stream is damaged or ends early",
        },
        Case {
            name: "gzip magic only",
            bytes: gzip[..2].to_vec(),
            message: "t: the gzip stream is damaged or ends early",
        },
        Case {
            name: "gzip without its checksum",
            bytes: gzip[..gzip.len() - 4].to_vec(),
            message: "t: the gzip stream is damaged or ends early",
        },
        Case { name: "flipped byte", bytes: flipped, message: "t: the gzip stream is damaged or ends early" },
        Case {
            name: "gzip and then some",
            bytes: [&gzip[..], b"more"].concat(),
            message: "t: the gzip stream is damaged or ends early",
        },
        Case {
            name: "truncated JSON",
            bytes: json[..json.len() / 2].to_vec(),
            message: "t: not a JSON document: ",
        },
        Case {
            name: "JSON and then some",
            bytes: [&json[..], b"}"].concat(),
            message: "t: not a JSON document: trailing characters at line",
        },
        Case { name: "YAML", bytes: b"formatVersion: 1\n".to_vec(), message: "t: not a JSON document: " },
        Case { name: "binary", bytes: vec![0, 159, 146, 150], message: "t: not a JSON document: " },
        Case {
            name: "some other JSON",
            bytes: br#"{"kind": "Pod"}"#.to_vec(),
            message: "t: not a conformance trace: it has no number `formatVersion`",
        },
        Case { name: "a JSON list", bytes: b"[]".to_vec(), message: "t: not a conformance trace" },
        Case {
            name: "version in words",
            bytes: br#"{"formatVersion": "one"}"#.to_vec(),
            message: "t: not a conformance trace",
        },
        Case {
            name: "new version",
            bytes: text.replace("\"formatVersion\":1", "\"formatVersion\":2").into_bytes(),
            message: "t: formatVersion is 2, this reads version 1",
        },
        Case {
            name: "new version, new fields",
            bytes: br#"{"formatVersion": 3, "pages": []}"#.to_vec(),
            message: "t: formatVersion is 3, this reads version 1",
        },
        Case {
            name: "no steps",
            bytes:
                br#"{"formatVersion": 1, "kubernetesVersion": "v", "family": "f", "seed": 1, "cluster": {}}"#
                    .to_vec(),
            message: "t: missing field `steps` at line 1",
        },
        Case {
            name: "unknown field",
            bytes: text.replace("\"family\":", "\"familia\":").into_bytes(),
            message: "t: unknown field `familia`",
        },
        Case {
            name: "unknown op",
            bytes: text.replacen("\"op\":\"schedule\"", "\"op\":\"dance\"", 1).into_bytes(),
            message: "unknown op `dance`; version 1 knows schedule,",
        },
    ];
    for case in cases {
        let error = parse_trace("t", &case.bytes).expect_err(case.name).to_string();
        assert!(error.starts_with("t: ") && error.contains(case.message), "case: {}: {error}", case.name);
    }
}

#[test]
fn every_truncation_is_an_error_and_none_panics() {
    let gzip = std::fs::read(committed().join("node-name-1.json.gz")).expect("a committed trace");
    for length in (0..gzip.len()).step_by(97) {
        assert!(parse_trace("t", &gzip[..length]).is_err(), "{length} bytes");
    }
    let json = unpacked(&gzip);
    for length in (0..json.len()).step_by(4999) {
        assert!(parse_trace("t", &json[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn an_error_in_a_step_names_the_step_and_the_place() {
    let text = r#"{"formatVersion":1,"kubernetesVersion":"v","family":"f","seed":1,"cluster":{},
        "steps":[{"op":"nominate","pod":{}},{"op":"schedule","pod":{},"result":{"chosen":7}}]}"#;
    let error = parse_trace("t", text.as_bytes()).expect_err("chosen is a name").to_string();
    assert!(
        error.starts_with("t: step 1: invalid type: integer `7`, expected a string at line 2 column "),
        "{error}"
    );
}

#[test]
fn a_missing_file_is_an_error() {
    let path = committed().join("no-such-trace.json.gz");
    let error = replay_file(&path).expect_err("there is no such file");
    assert!(matches!(error, ReplayError::Read { .. }));
    let message = error.to_string();
    assert!(
        message.contains("no-such-trace.json.gz: ")
            && message.ends_with("check the path and its permissions"),
        "{message}"
    );
}
