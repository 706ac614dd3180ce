//! Templates from text to JSON, and every way they fail.

use serde_json::json;

use super::*;

fn template(text: &str) -> ObjectTemplate {
    ObjectTemplate::parse(Path::new("t/pod.yaml"), text.to_owned()).unwrap()
}

fn env(params: Json) -> Env {
    let params: TemplateParams = params.as_object().unwrap().clone().into_iter().collect();
    Env::new(&params).with_index(7).with_count(10)
}

#[test]
fn templates_render_as_go_renders_them() {
    let cases = [
        ("plain text", "kind: Pod", "kind: Pod"),
        ("index and count", "{{.Index}}/{{ .Count }}", "7/10"),
        ("the root is reachable from inside", "{{range 1}}{{$.Index}}{{end}}", "7"),
        ("a small number", "{{.small}}", "8"),
        ("a large number is printed as Go prints floats", "{{.large}}", "9.999999e+06"),
        ("a large number made an integer", "{{AddInt 0 .large}}", "9999999"),
        ("arithmetic", "{{AddInt 8000 (Mod .Index (DivideInt 20 .small))}}", "8001"),
        (
            "float arithmetic",
            "{{DivideFloat 1 .small}} {{SubtractFloat 1 0.5}} {{MultiplyFloat 2 3}}",
            "0.125 0.5 6",
        ),
        ("integers cut towards zero", "{{DivideInt -7 2}} {{Mod -7 2}}", "-3 -1"),
        ("numbers in strings count", "{{Int \"12\"}} {{AddInt .digits 1}}", "12 43"),
        ("sums and products of many", "{{AddInt 1 2 3}} {{MultiplyInt 2 3 4}} {{AddInt}}", "6 24 0"),
        ("range over a number", "{{range (.small | Int)}}{{.}}{{end}}", "01234567"),
        ("range with a variable", "{{range $i := (2 | Int)}}[{{$i}}]{{end}}", "[0][1]"),
        ("or falls back", "{{$n := or .absent 3}}{{$n}}", "3"),
        ("or with nil as JSON", "{{$s := (or .absent nil) | JSON}}x: {{$s}}", "x: null"),
        ("a list as JSON", "{{JSON .list}}", r#"[{"a":1,"b":"<x>"}]"#),
        ("if without a value is false", "{{if .absent}}a{{else}}b{{end}}", "b"),
        ("comparison", "{{if eq .word \"gpu\"}}a{{end}}{{if ge .Index (.small | Int)}}b{{end}}", "a"),
        ("trimmed blanks", "a: \n  {{- .Index -}}  \n b", "a:7b"),
        ("a defined template", "{{define \"x\"}}<{{.}}>{{end}}{{template \"x\" .Index}}", "<7>"),
    ];
    let env = env(json!({
        "small": 8, "large": 9_999_999, "digits": "42", "word": "gpu", "list": [{"b": "<x>", "a": 1.0}],
    }));
    for (name, text, expected) in cases {
        assert_eq!(template(text).render(&env).unwrap(), expected, "case: {name}");
    }
}

#[test]
fn index_dependence_is_never_missed() {
    let cases = [
        ("nothing but text", "kind: Pod", false),
        ("count is the same for all", "{{.Count}} {{.other}}", false),
        ("a loop over numbers has its own dot", "{{range (.n | Int)}}{{.}}{{end}}", false),
        (
            "a variable that does not come from the index",
            "{{$n := or .n 2}}{{range $n}}{{Mod . $n}}{{end}}",
            false,
        ),
        ("with has its own dot", "{{with .n}}{{.}}{{end}}", false),
        ("the index", "name: pod-{{.Index}}", true),
        ("the index as an argument", "{{Mod .Index 12}}", true),
        ("the index in a condition", "{{if .Index}}a{{end}}", true),
        ("the index in parentheses", "{{AddInt 1 (DivideInt .Index 5)}}", true),
        ("through the root", "{{range 3}}{{$.Index}}{{end}}", true),
        ("through a variable", "{{$i := .Index}}{{$i}}", true),
        ("the whole environment", "{{JSON .}}", true),
        ("the whole environment by its name", "{{with .n}}{{JSON $}}{{end}}", true),
        ("by key", "{{index . \"Index\"}}", true),
        ("passed to another template", "{{define \"x\"}}{{.n}}{{end}}{{template \"x\" .}}", true),
        ("in the else of a with, dot is the root", "{{with .n}}{{else}}{{JSON .}}{{end}}", true),
        ("inside a definition", "{{define \"x\"}}{{.Index}}{{end}}a", true),
        ("behind a chain", "{{(or .n .m).Index}}", true),
    ];
    for (name, text, expected) in cases {
        assert_eq!(template(text).depends_on_index(), expected, "case: {name}");
    }
}

#[test]
fn templates_that_do_not_parse_say_where() {
    let cases = [
        ("unclosed action", "a\n{{ .Index", "t/pod.yaml:2: not a valid Go template: unclosed action"),
        (
            "unclosed block",
            "a\n{{if .x}}",
            "t/pod.yaml:2: not a valid Go template: `{{if}}` has no `{{end}}`",
        ),
        (
            "unknown function",
            "a\nb: {{Modulo .Index 2}}",
            "t/pod.yaml:2: not a valid Go template: function `Modulo` does not exist; there are Go's \
             built-in functions and AddFloat, AddInt, DivideFloat, DivideInt, Int, JSON, Mod, \
             MultiplyFloat, MultiplyInt, SubtractFloat, SubtractInt",
        ),
    ];
    for (name, text, expected) in cases {
        let error = ObjectTemplate::parse(Path::new("t/pod.yaml"), text.to_owned()).unwrap_err();
        assert_eq!(error.to_string(), expected, "case: {name}");
    }
}

#[test]
fn templates_that_do_not_evaluate_say_where() {
    let cases = [
        (
            "a name nobody set",
            "a: 1\nb: {{.zone}}",
            "t/pod.yaml:2: the template does not evaluate: `.zone` has no value; set it in `templateParams` of the op",
        ),
        (
            "arithmetic on nothing",
            "a: 1\n\nb: {{Mod .Index .groups}}",
            "t/pod.yaml:3: the template does not evaluate: a number is needed, and the name used here has no value",
        ),
        (
            "division by zero",
            "{{if .Index}}\nb: {{DivideInt 1 0}}\n{{end}}",
            "t/pod.yaml:2: the template does not evaluate: division by zero",
        ),
        (
            "a word where a number is needed",
            "b: {{AddInt .word 1}}",
            "t/pod.yaml:1: the template does not evaluate: `gpu` is not a number",
        ),
        (
            "too few arguments",
            "b: {{Mod .Index}}",
            "t/pod.yaml:1: the template does not evaluate: Mod takes 2 arguments, got 1",
        ),
        (
            "a loop over a float",
            "x\n{{range .n}}{{end}}",
            "t/pod.yaml:2: the template does not evaluate: cannot range over float64",
        ),
    ];
    for (name, text, expected) in cases {
        let error = template(text).render(&env(json!({"word": "gpu", "n": 3}))).unwrap_err();
        assert_eq!(error.to_string(), expected, "case: {name}");
    }
}

#[test]
fn rendered_text_that_is_not_yaml_is_shown() {
    let error = template("a: 1\nb: {{.Index}}: {{.Index}}\n").render_json(&env(json!({}))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "t/pod.yaml: the text it renders to is not valid YAML, at rendered line 2, column 5: \
         mapping values are not allowed in this context\n  | b: 7: 7"
    );
}

#[test]
fn a_bound_template_renders_json() {
    let template =
        Arc::new(template("metadata: {name: pod-{{.Index}}-of-{{.Count}}}\npods: \"110\"\ncpu: 4"));
    let bound = BoundTemplate::new(template, TemplateParams::new());
    assert!(bound.depends_on_index());
    let expected = json!({"metadata": {"name": "pod-3-of-9"}, "pods": "110", "cpu": 4});
    assert_eq!(bound.render_json(3, 9).unwrap(), expected);
}

#[test]
fn plain_files_keep_their_braces() {
    let plain = ObjectTemplate::plain(Path::new("pv.yaml"), "name: '{{.Index}}'".into());
    assert!(!plain.depends_on_index());
    assert_eq!(plain.render_json(&Env::default()).unwrap(), json!({"name": "{{.Index}}"}));
}
