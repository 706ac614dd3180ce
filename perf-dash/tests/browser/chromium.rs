//! As much of Chromium's devtools protocol as the test needs.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

const WAIT: Duration = Duration::from_secs(20);

/// A browser without a window, and the one page it shows.
pub(crate) struct Chromium {
    process: Child,
    profile: PathBuf,
    socket: WebSocket<TcpStream>,
    session: String,
    count: u64,
    loads: usize,
    /// Errors and warnings the pages wrote to the console.
    pub(crate) complaints: Vec<String>,
}

/// The browser's program, when there is one.
pub(crate) fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path).flat_map(|dir| names.map(|name| dir.join(name))).find(|file| file.is_file())
}

impl Chromium {
    pub(crate) fn start(program: &PathBuf) -> Chromium {
        let profile = std::env::temp_dir().join(format!("schedlab-chromium-{}", std::process::id()));
        let mut process = Command::new(program)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
            ])
            .args(["--hide-scrollbars", "--window-size=1200,1000", "--remote-debugging-port=0"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("chromium starts");
        let lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let address = lines
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("DevTools listening on ").map(str::to_owned))
            .expect("chromium says where it listens");
        let host = address.trim_start_matches("ws://").split('/').next().unwrap().to_owned();
        let stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(WAIT)).unwrap();
        let (socket, _) = tungstenite::client(&address, stream).unwrap();
        let mut browser = Chromium {
            process,
            profile,
            socket,
            session: String::new(),
            count: 0,
            loads: 0,
            complaints: Vec::new(),
        };
        let targets = browser.call("Target.getTargets", json!({}));
        let page = targets["targetInfos"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["type"] == "page")
            .unwrap()
            .clone();
        let attached =
            browser.call("Target.attachToTarget", json!({ "targetId": page["targetId"], "flatten": true }));
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            browser.call(domain, json!({}));
        }
        browser
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.count += 1;
        let id = self.count;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.socket.send(Message::text(message.to_string())).unwrap();
        loop {
            let answer = self.next();
            if answer["id"] == id {
                // A question that a navigation overtook is asked of the new page.
                let is_overtaken = answer["error"]["message"] == "Inspected target navigated or closed";
                if is_overtaken && method == "Runtime.evaluate" {
                    return self.call(method, params);
                }
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    fn next(&mut self) -> Value {
        let message = self.socket.read().expect("chromium answers in time");
        let value: Value = serde_json::from_str(message.to_text().unwrap()).unwrap();
        let level = |value: &Value| matches!(value.as_str(), Some("error" | "warning"));
        match value["method"].as_str() {
            Some("Page.loadEventFired") => self.loads += 1,
            Some("Runtime.exceptionThrown") => {
                self.complaints.push(value["params"]["exceptionDetails"].to_string())
            }
            Some("Runtime.consoleAPICalled") if level(&value["params"]["type"]) => {
                self.complaints.push(value["params"]["args"].to_string());
            }
            Some("Log.entryAdded") if level(&value["params"]["entry"]["level"]) => {
                self.complaints.push(value["params"]["entry"].to_string());
            }
            _ => {}
        }
        value
    }

    /// Opens a page and waits until it is loaded and drawn once.
    pub(crate) fn open(&mut self, url: &str) {
        let before = self.loads;
        // A change of the part after # is no navigation, so the way leads over an empty page.
        self.call("Page.navigate", json!({ "url": "about:blank" }));
        self.wait_for_loads(before + 1);
        self.call("Page.navigate", json!({ "url": url }));
        self.wait_for_loads(before + 2);
        self.until("performance.getEntriesByName('first-contentful-paint').length === 1");
    }

    fn wait_for_loads(&mut self, wanted: usize) {
        while self.loads < wanted {
            self.next();
        }
    }

    fn evaluate(&mut self, script: &str) -> Value {
        let params =
            json!({ "expression": script, "returnByValue": true, "awaitPromise": true, "replMode": true });
        let answer = self.call("Runtime.evaluate", params);
        assert!(answer["exceptionDetails"].is_null(), "{script}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    pub(crate) fn run(&mut self, script: &str) {
        self.evaluate(script);
    }

    pub(crate) fn number(&mut self, script: &str) -> f64 {
        let value = self.evaluate(script);
        value.as_f64().unwrap_or_else(|| panic!("{script} is {value}, no number"))
    }

    pub(crate) fn text(&mut self, script: &str) -> String {
        self.evaluate(script).as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn truth(&mut self, script: &str) -> bool {
        self.evaluate(script) == json!(true)
    }

    /// Waits until something holds.
    pub(crate) fn until(&mut self, script: &str) {
        let start = Instant::now();
        while !self.truth(script) {
            assert!(start.elapsed() < WAIT, "still not: {script}; console: {:#?}", self.complaints);
            self.evaluate("new Promise(done => setTimeout(done, 20))");
        }
    }

    /// Left, top and width of an element, scrolled into view.
    pub(crate) fn place(&mut self, selector: &str) -> (f64, f64, f64) {
        let found = format!("document.querySelector({})", json!(selector));
        self.run(&format!("{found}.scrollIntoView({{block: 'center', behavior: 'instant'}})"));
        let mut of = |side: &str| self.number(&format!("{found}.getBoundingClientRect().{side}"));
        (of("left"), of("top"), of("width"))
    }

    pub(crate) fn mouse(&mut self, kind: &str, x: f64, y: f64) {
        let pressed = u8::from(kind != "mouseMoved");
        let button = if pressed == 1 { "left" } else { "none" };
        let params = json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": pressed });
        self.call("Input.dispatchMouseEvent", params);
    }

    pub(crate) fn drag(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.mouse("mouseMoved", from.0, from.1);
        self.mouse("mousePressed", from.0, from.1);
        for step in 1..=5 {
            let x = from.0 + (to.0 - from.0) * f64::from(step) / 5.0;
            let params = json!({ "type": "mouseMoved", "x": x, "y": to.1, "button": "left", "buttons": 1 });
            self.call("Input.dispatchMouseEvent", params);
        }
        self.mouse("mouseReleased", to.0, to.1);
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
    }

    pub(crate) fn key(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({ "type": kind, "key": key }));
        }
    }

    pub(crate) fn dark(&mut self) {
        let features = json!([{ "name": "prefers-color-scheme", "value": "dark" }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    pub(crate) fn width(&mut self, pixels: u32) {
        let params = json!({ "width": pixels, "height": 844, "deviceScaleFactor": 1, "mobile": true });
        self.call("Emulation.setDeviceMetricsOverride", params);
    }

    /// Leaves a picture, where somebody asked for pictures.
    pub(crate) fn shoot(&mut self, name: &str) {
        let Some(dir) = std::env::var_os("SCHEDLAB_SCREENSHOTS") else { return };
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let decode = Command::new("base64").arg("-d").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut decode = decode.expect("base64 is part of every system with a shell");
        let text = shot["data"].as_str().unwrap().to_owned();
        let mut input = decode.stdin.take().unwrap();
        std::thread::spawn(move || std::io::Write::write_all(&mut input, text.as_bytes()));
        let picture = decode.wait_with_output().unwrap().stdout;
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(PathBuf::from(dir).join(format!("{name}.png")), picture).unwrap();
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}
