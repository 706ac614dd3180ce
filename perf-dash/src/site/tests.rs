use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use schedlab_workloads::files::faults::{FileFault, at_every_step};

use super::*;
use crate::compare::tests::{run, workload};
use crate::history::{ProfileSummary, Share};
use crate::stats::testing::Sampler;

fn records(count: usize) -> Vec<Record> {
    let mut sampler = Sampler::new(1);
    (0..count)
        .map(|at| {
            let rate =
                |sampler: &mut Sampler| sampler.normal(1000.0, 5.0) * if at + 1 == count { 0.8 } else { 1.0 };
            let mut small = workload("Basic/10Nodes", &[rate(&mut sampler)]);
            small.nodes = 10;
            let large = workload("Basic/5000Nodes", &[rate(&mut sampler)]);
            let profile = ProfileSummary {
                partial: false,
                workload: "Basic/10Nodes".to_owned(),
                samples: 100,
                pods: 1000,
                seconds: 1.0,
                shares: vec![Share {
                    kind: "plugin".to_owned(),
                    name: "NodeResourcesFit".to_owned(),
                    self_samples: 20,
                    total_samples: 25,
                }],
                flamegraph_svg: Some("<svg></svg>".to_owned()),
                allocations: Vec::new(),
            };
            let started_at = format!("2026-11-{:02}T12:{:02}:00Z", 1 + at / 60, at % 60);
            Record::from_run(&run(&started_at, vec![small, large]), None, vec![profile])
        })
        .collect()
}

struct Site(PathBuf);

impl Site {
    fn of(name: &str, records: &[Record]) -> (Site, SiteCounts) {
        let path = std::env::temp_dir().join(format!("schedlab-site-{name}-{}", std::process::id()));
        let counts = write_site(&path, records, &[], Audience::Anybody).unwrap();
        (Site(path), counts)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn disk_fault_at_any_step_leaves_whole_pages() {
    let records = records(2);
    let (site, _) = Site::of("faults", &records[..1]);
    let mut files = Vec::new();
    collect(&site.0, &mut files);
    let old: BTreeMap<PathBuf, Vec<u8>> =
        files.iter().map(|file| (file.clone(), fs::read(file).unwrap())).collect();
    let new_site = Site::of("faults-new", &records).0;
    let new = |file: &Path| fs::read(new_site.0.join(file.strip_prefix(&site.0).unwrap())).ok();
    let act = || {
        for (file, content) in &old {
            fs::write(file, content).unwrap();
        }
        write_site(&site.0, &records, &[], Audience::Anybody)
    };
    let count = at_every_step(act, |case, _, result| {
        for (file, content) in &old {
            let found = fs::read(file).unwrap();
            assert!(found == *content || Some(&found) == new(file).as_ref(), "{case}: {}", file.display());
        }
        if let Err(error) = result {
            assert!(error.to_string().starts_with(&site.0.display().to_string()), "{case}: {error}");
        }
    });
    assert!(old.len() * FileFault::ALL.len() < count, "{count} faults");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}

#[test]
fn every_page_and_its_data_are_written_and_every_link_leads_somewhere() {
    let (site, counts) = Site::of("links", &records(12));
    assert_eq!(counts, SiteCounts { pages: 6 + 2 + 2, runs: 12, workloads: 2 });
    let mut pages = vec![
        "index.html".to_owned(),
        "claims.html".to_owned(),
        "compare.html".to_owned(),
        "scaling.html".to_owned(),
        "plugins.html".to_owned(),
        "instructions.html".to_owned(),
    ];
    for folder in ["w", "p"] {
        let entries = fs::read_dir(site.0.join(folder)).unwrap();
        pages.extend(entries.map(|entry| format!("{folder}/{}", entry.unwrap().file_name().display())));
    }
    for page in pages {
        let text = site.read(&page);
        let base = site.0.join(&page);
        for mark in ["href=\"", "src=\""] {
            for link in text.split(mark).skip(1).map(|rest| rest.split(['"', '#']).next().unwrap()) {
                assert!(!link.contains("://"), "{page} reaches for the network: {link}");
                let target = base.parent().unwrap().join(link);
                assert!(link.is_empty() || target.exists(), "{page}: {link} leads nowhere");
            }
        }
    }
}

#[test]
fn drop_beyond_the_noise_threshold_is_first_on_the_overview() {
    let (site, _) = Site::of("news", &records(14));
    let overview = site.read("index.html");
    assert!(overview.contains("0 better, 2 worse, 0 unchanged, 0 inconclusive"), "{}", &overview[..3000]);
    let (calm, _) = Site::of("calm", &records(14)[..13]);
    assert!(calm.read("index.html").contains("Nothing moved beyond its fence"));
    let (young, _) = Site::of("young", &records(3));
    assert!(young.read("index.html").contains("2 inconclusive"), "three runs make no fence");
}

#[test]
fn a_workload_that_scatters_by_more_than_double_is_never_unchanged() {
    let mut records = records(14);
    for (at, record) in records.iter_mut().enumerate() {
        record.points[0].throughput.total *= 10_f64.powi(at as i32 % 3);
    }
    let (site, _) = Site::of("noisy", &records);
    let overview = site.read("index.html");
    assert!(overview.contains("too noisy") && overview.contains("1 inconclusive"), "{}", &overview[..3000]);
}

/// Every other run with the class cache off, at a tenth of the rate.
fn mixed(count: usize) -> Vec<Record> {
    let mut mixed = records(count);
    for (at, record) in mixed.iter_mut().enumerate() {
        let mode = if (count - at) % 2 == 1 { "on" } else { "off" };
        record.settings.as_mut().unwrap().options.insert("class cache".to_owned(), mode.to_owned());
        for point in record.points.iter_mut().filter(|_| mode == "off") {
            point.throughput.total /= 10.0;
            point.latency_us.values_mut().for_each(|latency| latency.mean *= 10.0);
        }
    }
    mixed
}

#[test]
fn charts_and_sparklines_join_runs_of_one_setting_only() {
    let (site, _) = Site::of("settings", &mixed(30));
    let script = site.read("data/w/basic-10nodes.js");
    let from = script.find(", ").unwrap() + 2;
    let data: serde_json::Value = serde_json::from_str(&script[from..script.rfind(')').unwrap()]).unwrap();
    let rates = |series: u64| -> Vec<f64> {
        let of = data["of"].as_array().unwrap().iter();
        let rates = data["rate"].as_array().unwrap().iter();
        of.zip(rates).filter(|(of, _)| **of == series).map(|(_, rate)| rate.as_f64().unwrap()).collect()
    };
    assert_eq!((rates(0).len(), rates(1).len()), (15, 15));
    assert!(rates(0).iter().all(|&rate| 500.0 < rate), "the newest run's settings: {:?}", rates(0));
    assert!(rates(1).iter().all(|&rate| rate < 500.0), "{:?}", rates(1));
    assert_eq!(data["series"][0]["differs"], "");
    assert_eq!(data["series"][1]["differs"], "class cache off");
    assert_eq!(data["series"][0]["fence"], data["series"][0]["fence"].as_f64().unwrap());
    assert!(data["series"][0]["fence"].as_f64().unwrap() < 0.1, "across settings it would be tenfold");
    let page = site.read("w/basic-10nodes.html");
    assert!(page.contains("data-series") && page.contains("class cache off (15 runs)"), "{page}");
    // Of a line that joined both settings, every other point would be at a tenth: far from the top.
    let overview = site.read("index.html");
    let spark =
        overview.split("polyline class=\"line\" points=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(spark.split(' ').count(), 15, "{spark}");
    let heights: Vec<u32> =
        spark.split(' ').take(14).map(|point| point.split(',').nth(1).unwrap().parse().unwrap()).collect();
    assert!(heights.iter().all(|&height| height < 6), "noise, not two levels: {heights:?}");
}

#[test]
fn parts_and_scaling_keep_to_the_newest_settings() {
    let (site, _) = Site::of("settings-parts", &mixed(6));
    let part = site.read("data/p/point-filter.js");
    assert!(part.contains("\"run\":[1,3,5]"), "{part}");
    let mut records = mixed(6);
    // The newest run has one size only; the other size was last measured with other settings.
    records[5].points.truncate(1);
    let (site, _) = Site::of("settings-scaling", &records);
    let scaling = site.read("data/scaling.js");
    let rates = scaling.split("\"rate\":[").nth(1).unwrap().split(']').next().unwrap();
    let rates: Vec<f64> = rates.split(',').map(|rate| rate.parse().unwrap()).collect();
    assert!(rates.len() == 2 && rates.iter().all(|&rate| 500.0 < rate), "{rates:?}");
}

#[test]
fn settings_keep_two_runs_from_being_judged() {
    let (site, _) = Site::of("settings-compare", &mixed(4));
    let setting = |record: &Record| {
        let script = site.read(&format!("data/r/{}.js", record.id));
        let from = script.find(", ").unwrap() + 2;
        let rows: serde_json::Value =
            serde_json::from_str(&script[from..script.rfind(')').unwrap()]).unwrap();
        rows[0][8].as_u64().unwrap()
    };
    let records = mixed(4);
    assert_ne!(setting(&records[2]), setting(&records[3]));
    assert_eq!(setting(&records[1]), setting(&records[3]));
}

#[test]
fn change_points_are_listed_and_marked() {
    let mut records = records(40);
    for record in &mut records[25..] {
        record.points[0].throughput.total *= 0.8;
    }
    let (site, _) = Site::of("marks", &records);
    let overview = site.read("index.html");
    let listed = overview.split("Change points").nth(1).unwrap();
    assert!(listed.contains("basic-10nodes.html") && listed.contains("open, since"), "{listed}");
    assert!(site.read("w/basic-10nodes.html").contains("Change points"));
    assert!(!site.read("w/basic-5000nodes.html").contains("Change points"));
    let data = site.read("data/w/basic-10nodes.js");
    assert!(data.contains("\"marks\":[{\"at\":25,\"verdict\":\"worse\""), "{data}");
}

#[test]
fn plugins_flamegraphs_and_scaling_come_from_what_was_recorded() {
    let (site, _) = Site::of("parts", &records(4));
    assert!(site.read("plugins.html").contains("NodeResourcesFit"));
    // A quarter of a second over a thousand pods.
    assert!(site.read("data/p/plugin-noderesourcesfit.js").contains("250000"));
    assert!(site.read("p/point-filter.html").contains("Extension point"));
    assert!(site.read("w/basic-10nodes.html").contains("iframe"));
    assert!(!site.read("w/basic-5000nodes.html").contains("iframe"));
    assert!(site.read("data/scaling.js").contains("\"nodes\":[10,100]"));
}

#[test]
fn counted_instructions_have_a_page_and_stand_beside_their_workload() {
    let mut records = records(3);
    for record in &mut records {
        record.points[1].name = "PlainPods/5000Nodes".to_owned();
    }
    for (at, count) in [(0, 1000), (2, 1003)] {
        records[at].instructions.insert("cycle/plain_cached".to_owned(), count);
    }
    let (site, _) = Site::of("kernels", &records);
    let page = site.read("instructions.html");
    assert!(page.contains("cycle/plain_cached") && page.contains("+0.300 %"), "{page}");
    assert!(site.read("data/instructions.js").contains("\"run\":[0,2]"), "only runs that counted");
    assert!(site.read("w/plainpods-5000nodes.html").contains("data-kernel=\"cycle/plain_cached\""));
    assert!(!site.read("w/basic-10nodes.html").contains("data-kernel"));
    records.truncate(2);
    records.iter_mut().for_each(|record| record.instructions.clear());
    let (none, _) = Site::of("no-kernels", &records);
    assert!(none.read("instructions.html").contains("No count has been recorded yet"));
}

#[test]
fn only_live_pages_open_an_event_stream() {
    let path = std::env::temp_dir().join(format!("schedlab-site-live-{}", std::process::id()));
    write_site(&path, &records(2), &[], Audience::Live).unwrap();
    let live = Site(path);
    let (site, _) = Site::of("not-live", &records(2));
    for page in ["index.html", "w/basic-10nodes.html"] {
        assert!(live.read(page).contains("live.js") && live.read(page).contains("connect-src 'self'"));
        assert!(!site.read(page).contains("live.js") && !site.read(page).contains("connect-src"));
    }
}

#[test]
fn an_empty_history_still_makes_a_site() {
    let (site, counts) = Site::of("empty", &[]);
    assert_eq!(counts, SiteCounts { pages: 6, runs: 0, workloads: 0 });
    assert!(site.read("index.html").contains("No run has been recorded yet"));
}

#[test]
fn names_that_make_the_same_file_name_are_kept_apart() {
    let mut slugs = model::Slugs::default();
    assert_eq!(slugs.make("A/b_c"), "a-b-c");
    assert_eq!(slugs.make("A-b/c"), "a-b-c-2");
    assert_eq!(slugs.make("a-b-c-2"), "a-b-c-2-2", "that name is taken");
    assert_eq!(slugs.make("-x-"), "x");
    assert_eq!((slugs.make("ä"), slugs.make("../..")), ("unnamed".to_owned(), "unnamed-2".to_owned()));
}

#[test]
fn no_name_of_a_file_comes_unchecked_from_a_record() {
    let mut records = records(2);
    records[0].points[0].name = "../../Basic:10Nodes\\<x>|?*\"".to_owned();
    records[1].profiles[0].shares[0].name = "../Fit: x".to_owned();
    let (site, _) = Site::of("portable", &records);
    let mut folders = vec![site.0.clone()];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let is_portable = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
            assert!(name.bytes().all(is_portable), "{name}");
            count += 1;
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    assert!(20 < count, "{count}");
}

#[test]
fn hostile_names_stay_inside_the_site_and_apart() {
    let mut records = records(6);
    let long = "N".repeat(300);
    let names = ["../../evil", "/etc/evil", "a\0b", &long, "CON", "nul.html"];
    for (record, name) in records.iter_mut().zip(names) {
        record.id = name.to_owned();
        record.started_at = format!("../{name}");
        record.points[0].name = name.to_owned();
        record.profiles[0].workload = name.to_owned();
        record.profiles[0].shares[0].name = name.to_owned();
    }
    // Two that are one after cleaning, and two that some file systems take for one.
    records[0].points[1].name = "x/y".to_owned();
    records[1].points[1].name = "x:y".to_owned();
    records[0].profiles[0].shares[0].name = "Fit".to_owned();
    records[1].profiles[0].shares[0].name = "fit".to_owned();
    let parent = std::env::temp_dir().join(format!("schedlab-site-hostile-{}", std::process::id()));
    let out = parent.join("deep/site");
    let counts = write_site(&out, &records, &[], Audience::Anybody).unwrap();
    let entries = |folder: &std::path::Path| {
        fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (entries(&parent), entries(&parent.join("deep"))),
        (vec!["deep".to_owned()], vec!["site".to_owned()])
    );
    assert_eq!(entries(&out.join("data/r")).len(), records.len());
    assert_eq!(entries(&out.join("flame")).len(), records.len());
    assert_eq!(entries(&out.join("w")).len(), counts.workloads);
    assert_eq!(entries(&out.join("p")).len(), 1 + names.len(), "the plugins and Filter");
    for folder in ["w", "p", "data/r", "data/w", "data/p", "flame"] {
        for name in entries(&out.join(folder)) {
            assert!(is_file_name(&name), "{folder}/{name}");
        }
    }
    fs::remove_dir_all(&parent).unwrap();
}

#[test]
fn flamegraph_of_a_record_runs_without_an_origin_and_is_no_file_of_its_own() {
    let mut records = records(1);
    let hostile = "<svg onload='steal()'></svg></iframe><script>alert(\"1\")</script>";
    records[0].profiles[0].flamegraph_svg = Some(hostile.to_owned());
    let (site, _) = Site::of("flame", &records);
    let page = site.read("w/basic-10nodes.html");
    let file = format!("flame/{}-0.html", records[0].id);
    assert!(
        page.contains(&format!("<iframe class=\"flame\" sandbox=\"allow-scripts\" src=\"../{file}\"")),
        "{page}"
    );
    let flame = site.read(&file);
    assert!(flame.contains("<iframe sandbox=\"allow-scripts\" srcdoc=\"&lt;svg onload="), "{flame}");
    assert!(flame.contains("default-src 'none'") && !flame.contains("allow-same-origin"), "{flame}");
    assert!(!flame.contains("<script"), "all of it is inside the attribute: {flame}");
    let files: Vec<_> = fs::read_dir(site.0.join("flame")).unwrap().collect();
    assert_eq!(files.len(), 1, "no SVG beside it");
}
