//! Site, report and explanation in a real browser: hover, zoom, filter, navigate, dark mode, a phone's
//! width; and of every chart that its marks lie inside and its axes have units.
//!
//! Needs Chromium; without it the test says so and passes. With `SCHEDLAB_SCREENSHOTS=DIR` it
//! leaves pictures of the pages there.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that says why it is skipped, and may panic"
)]

mod chromium;
#[path = "../../examples/sample_history.rs"]
#[allow(dead_code, reason = "only its records are used here")]
mod sample_history;
#[path = "../../examples/sample_report.rs"]
#[allow(dead_code, reason = "only its run is used here")]
mod sample_report;

use std::path::{Path, PathBuf};

use chromium::Chromium;
use schedlab_core::scheduler::FeatureGates;
use schedlab_perf_dash::site::{Audience, write_site};
use schedlab_perf_dash::{write_explain_html, write_html};
use schedlab_workloads::explain::{ExplainSetup, Subject, read_manifests};
use schedlab_workloads::lab_plugins;
use serde_json::json;

const RUNS: usize = 220;
/// From navigation to the first pixel of content, on a machine that is busy with other tests.
const FIRST_PAINT_MS_MAX: f64 = 1000.0;

struct Site(PathBuf);

impl Site {
    fn new() -> Site {
        let path = std::env::temp_dir().join(format!("schedlab-browser-{}", std::process::id()));
        write_site(&path, &sample_history::records(RUNS, 12), &[], Audience::Anybody).unwrap();
        write_html(&path.join("report.html"), &sample_report::run()).unwrap();
        write_explanation(&path);
        Site(path)
    }

    fn url(&self, page: &str) -> String {
        format!("file://{}/{page}", self.0.display())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A pod that some nodes reject for every kind of reason.
const CLUSTER: &str = r#"
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: roomy, labels: {zone: west}}, status: {allocatable: {cpu: 8, memory: 16Gi, pods: "10"}}}
- {apiVersion: v1, kind: Node, metadata: {name: ip-10-0-0-1.with-a-long-name.example.internal, labels: {zone: west}}, status: {allocatable: {cpu: 6, memory: 16Gi, pods: "10"}}}
- {apiVersion: v1, kind: Node, metadata: {name: small, labels: {zone: east}}, status: {allocatable: {cpu: 1, memory: 2Gi, pods: "10"}}}
- {apiVersion: v1, kind: Node, metadata: {name: other, labels: {zone: north}}, status: {allocatable: {cpu: 8, memory: 16Gi, pods: "10"}}}
- apiVersion: v1
  kind: Node
  metadata: {name: tainted-with-a-long-name.example.internal, labels: {zone: west}}
  spec: {taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]}
  status: {allocatable: {cpu: 8, memory: 16Gi, pods: "10"}}
- apiVersion: v1
  kind: Pod
  metadata: {name: db-0, namespace: shop, labels: {app: web}}
  spec: {nodeName: other, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: web, namespace: shop, labels: {app: web}}
  spec:
    schedulingGroup: {podGroupName: batch}
    topologySpreadConstraints:
    - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
    containers: [{name: c, image: i, resources: {requests: {cpu: 2}}}]
"#;

fn write_explanation(folder: &Path) {
    let file = folder.join("cluster.yaml");
    std::fs::write(&file, CLUSTER).unwrap();
    let registry = lab_plugins::registry();
    let setup = ExplainSetup {
        source: "cluster.yaml",
        gates: FeatureGates::default(),
        config: None,
        registry: &registry,
    };
    let mut subject = Subject::from_manifests(read_manifests(&[file]).unwrap(), "shop/web", &setup).unwrap();
    write_explain_html(&folder.join("explain.html"), &subject.explain()).unwrap();
}

/// Marks that lie outside their plot, and charts whose axes do not say what they count.
const BAD_CHARTS: &str = "(() => {
    document.querySelectorAll('details').forEach((one) => { one.open = true; });
    const bad = [];
    for (const svg of document.querySelectorAll('svg:not(.sign)')) {
        if (svg.closest('.legend') || svg.classList.contains('spark')) continue;
        const box = (svg.querySelector('[data-plot]') || svg).getBoundingClientRect();
        if (!box.width) continue;
        const marks = '.marks path, .marks rect, .marks line, .part, .bar, .error, .dot, .floor, .p50, .p90, .p99, .max, .span, .cell';
        for (const mark of svg.querySelectorAll(marks)) {
            const at = mark.getBoundingClientRect();
            if (at.left < box.left - 1 || at.right > box.right + 1 || at.top < box.top - 1 || at.bottom > box.bottom + 1)
                bad.push(`${mark.outerHTML.slice(0, 120)} lies outside ${svg.getAttribute('aria-label') || svg.outerHTML.slice(0, 60)}`);
        }
        const wanted = svg.matches('.lines') ? 2 : svg.matches('.axis, .latency') ? 1 : 0;
        const named = [...svg.querySelectorAll('.axis-name')].filter((name) => name.textContent.trim()).length;
        if (named < wanted) bad.push(`${svg.getAttribute('aria-label') || svg.outerHTML.slice(0, 80)} has ${named} of ${wanted} axes named`);
    }
    return bad.slice(0, 5).join('; ');
})()";

#[track_caller]
fn check_charts(browser: &mut Chromium, page: &str) {
    // Sections that were just opened are drawn in their width in the next frame.
    browser.run(&format!("{BAD_CHARTS}; new Promise(done => setTimeout(done, 120))"));
    assert_eq!(browser.text(BAD_CHARTS), "", "{page}");
}

fn report_and_explanation(browser: &mut Chromium, site: &Site) {
    browser.open(&site.url("report.html"));
    browser.until("document.querySelectorAll('svg.lines').length > 8");
    browser.shoot("report");
    assert!(browser.number("document.querySelector('.cards').getBoundingClientRect().bottom") < 844.0);
    let (x, y, width) = browser.place(".figure [data-canvas]");
    browser.mouse("mouseMoved", x + width * 0.5, y + 60.0);
    let readout = "document.querySelector('.figure [data-readout]').textContent";
    assert!(browser.truth(&format!("/ms.*base.* to /.test({readout})")), "values come with intervals");
    browser.shoot("report-study");
    check_charts(browser, "report.html");
    browser.open(&site.url("explain.html"));
    browser.shoot("explain");
    assert!(browser.truth("/unsure/.test(document.querySelector('h1').textContent)"));
    assert!(browser.truth("/nvidia.com\\/gpu=present:NoSchedule/.test(document.body.textContent)"));
}

#[test]
fn the_site_works_in_a_browser() {
    let Some(program) = chromium::find() else {
        println!("skipped: no chromium, chromium-browser or google-chrome in PATH");
        return;
    };
    let site = Site::new();
    let mut browser = Chromium::start(&program);
    overview(&mut browser, &site);
    workload_page(&mut browser, &site);
    comparison(&mut browser, &site);
    other_pages(&mut browser, &site);
    report_and_explanation(&mut browser, &site);
    narrow_and_dark(&mut browser, &site);
    assert!(browser.complaints.is_empty(), "console: {:#?}", browser.complaints);
}

fn overview(browser: &mut Chromium, site: &Site) {
    // The first page of a fresh browser pays for its start; a reader's second page does not.
    browser.open(&site.url("index.html"));
    browser.open(&site.url("index.html"));
    let paint = browser.number("performance.getEntriesByName('first-contentful-paint')[0].startTime");
    println!("first contentful paint with {RUNS} runs: {paint:.0} ms");
    assert!(paint < FIRST_PAINT_MS_MAX, "first paint took {paint} ms");
    assert_eq!(browser.number("document.querySelectorAll('#workloads tbody tr').length"), 12.0);
    browser.run("const f = document.querySelector('[data-filter=workloads]'); f.value = 'HostPorts 500'; f.dispatchEvent(new Event('input'))");
    let visible = "[...document.querySelectorAll('#workloads tbody tr')].filter(r => !r.hidden).length";
    assert_eq!(browser.number(visible), 2.0, "HostPorts at 500 and 5000 nodes");
    browser.run("f.value = ''; f.dispatchEvent(new Event('input')); document.querySelectorAll('#workloads thead button')[2].click()");
    let rates = "[...document.querySelectorAll('#workloads tbody tr')].map(r => +r.cells[2].dataset.value)";
    assert!(
        browser.truth(&format!("{rates}.every((v, i, a) => i === 0 || v <= a[i - 1])")),
        "sorted, highest first"
    );
    browser.shoot("overview-light");
}

fn workload_page(browser: &mut Chromium, site: &Site) {
    browser.open(&site.url("index.html"));
    browser.run("document.querySelector('#workloads tbody a').click()");
    browser.until("document.querySelector('[data-chart=rate] svg.lines') !== null");
    let (x, y, width) = browser.place("[data-chart=rate] [data-canvas]");
    browser.mouse("mouseMoved", x + width * 0.5, y + 60.0);
    let readout = "document.querySelector('[data-chart=rate] [data-readout]').textContent";
    assert!(browser.truth(&format!("/pods\\/s/.test({readout})")), "hovering tells the values");
    // Dragging zooms: fewer runs are then between the ends.
    let spread =
        "document.querySelector('[data-chart=rate] .marks .line').getAttribute('d').split('L').length";
    let before = browser.number(spread);
    browser.drag((x + width * 0.3, y + 80.0), (x + width * 0.5, y + 80.0));
    assert!(browser.number(spread) < before / 2.0, "a drag zooms");
    check_charts(browser, "a zoomed chart");
    browser.shoot("workload-zoomed");
    // The keyboard does the same as the mouse.
    browser.run("document.querySelector('[data-chart=rate] [data-canvas]').focus()");
    browser.key("0");
    browser.key("Home");
    let first = browser.text(readout);
    browser.key("ArrowRight");
    assert_ne!(browser.text(readout), first, "an arrow moves on");
    browser.key("Enter");
    browser.key("End");
    browser.key("Enter");
    assert!(
        browser.truth("/compare\\.html#a=/.test(document.querySelector('[data-picked] a').href)"),
        "two picked runs are compared"
    );
    browser.run("document.querySelector('[data-chart=latency] .legend button').click()");
    assert!(browser.truth("document.querySelector('[data-chart=latency] .legend button').getAttribute('aria-pressed') === 'false'"));
    let rows = "document.querySelectorAll('[data-chart=rate] tbody tr').length";
    browser.run("document.querySelector('[data-chart=rate] details').open = true");
    browser.until(&format!("{rows} > 200"));
    browser.shoot("workload-light");
}

fn comparison(browser: &mut Chromium, site: &Site) {
    browser.open(&site.url("compare.html"));
    browser.until("document.querySelectorAll('#compared tbody tr').length === 12");
    assert_eq!(browser.number("document.querySelectorAll('#run-a option').length"), RUNS as f64);
    let verdict = "document.querySelector('#compare-verdict').textContent";
    let before = browser.text(verdict);
    browser.run("document.querySelector('#run-a').selectedIndex = 150; document.querySelector('#run-a').dispatchEvent(new Event('change'))");
    browser.until(&format!("{verdict} !== {}", json!(before)));
    assert!(browser.truth("/^#a=.+&b=.+/.test(location.hash)"), "the address can be shared");
    browser.shoot("compare-light");
    // Neither better nor worse: kube-scheduler's numbers hold its API server too.
    let chosen = "[...document.querySelectorAll('#run-a option')].findIndex(o => /kube-scheduler/.test(o.textContent))";
    browser.run(&format!("document.querySelector('#run-a').selectedIndex = {chosen}; document.querySelector('#run-a').dispatchEvent(new Event('change'))"));
    browser.until(&format!("/no verdict/.test({verdict})"));
    assert_eq!(browser.number("document.querySelectorAll('#compared .pass, #compared .fail').length"), 0.0);
}

fn other_pages(browser: &mut Chromium, site: &Site) {
    browser.open(&site.url("scaling.html"));
    browser.until("document.querySelectorAll('[data-chart] svg.lines').length === 6");
    check_charts(browser, "scaling.html");
    browser.shoot("scaling-light");
    browser.open(&site.url("plugins.html"));
    browser.run("document.querySelector('tbody a').click()");
    browser.until("document.querySelector('[data-chart=part] svg.lines') !== null");
    browser.open(&site.url("p/plugin-noderesourcesfit.html"));
    browser.until("document.querySelector('[data-chart=part] svg.lines') !== null");
    browser.shoot("plugin-light");
    browser.open(&site.url("p/point-filter.html"));
    browser.until("document.querySelector('[data-chart=part-nodes] svg.lines') !== null");
    browser.shoot("point-light");
    browser.open(&site.url("instructions.html"));
    browser.until("document.querySelector('[data-chart=kernels] svg.lines') !== null");
    assert_eq!(browser.number("document.querySelectorAll('#kernels tbody tr').length"), 3.0);
    browser.shoot("instructions-light");
    browser.open(&site.url("w/plainpods-5000nodes-50000pods.html"));
    browser.until("document.querySelector('[data-chart=instructions] svg.lines') !== null");
}

fn narrow_and_dark(browser: &mut Chromium, site: &Site) {
    browser.dark();
    browser.open(&site.url("index.html"));
    let background = "getComputedStyle(document.body).backgroundColor";
    assert_eq!(browser.text(background), "rgb(20, 23, 28)", "dark by the system's wish");
    browser.shoot("overview-dark");
    browser.run("const t = document.querySelector('#theme'); t.click()");
    assert_eq!(browser.text(background), "rgb(255, 255, 255)", "light by the reader's");
    browser.run("t.click()");
    browser.open(&site.url("w/plainpods-5000nodes-50000pods.html"));
    browser.until("document.querySelector('[data-chart=rate] svg.lines') !== null");
    assert_eq!(browser.text(background), "rgb(20, 23, 28)", "the choice is kept");
    browser.shoot("workload-dark");
    browser.width(390);
    for page in [
        "report.html",
        "explain.html",
        "index.html",
        "w/plainpods-5000nodes-50000pods.html",
        "compare.html",
        "scaling.html",
        "plugins.html",
        "instructions.html",
    ] {
        browser.open(&site.url(page));
        let wide = browser.number("document.documentElement.scrollWidth");
        let too_wide = "[...document.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > 390 || e.scrollWidth > 390).map(e => e.outerHTML.slice(0, 90)).join('; ').slice(0, 900)";
        let offenders = browser.text(too_wide);
        assert!(wide <= 390.0, "{page} is {wide} px wide on a phone: {offenders}");
        let cut = "[...document.querySelectorAll('.lead')].filter(e => e.parentElement.scrollWidth > e.parentElement.clientWidth).length";
        assert_eq!(
            browser.number(cut),
            0.0,
            "{page}: the chosen node and the runner-up are seen beside each other"
        );
        check_charts(browser, page);
        let wide = browser.number("document.documentElement.scrollWidth");
        let offenders = browser.text(too_wide);
        assert!(wide <= 390.0, "{page} is {wide} px wide on a phone when all is open: {offenders}");
        browser.shoot(&format!("phone-{}", Path::new(page).file_stem().unwrap().display()));
    }
}
