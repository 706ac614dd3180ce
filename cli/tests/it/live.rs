//! `schedlab scheduler`: with the client of clusters against our own API server, without it an error.

#[cfg(not(feature = "live"))]
#[test]
fn scheduler_of_a_build_without_a_client_says_how_to_get_one() {
    let folder = crate::support::Folder::new();
    crate::support::schedlab_in(&folder, &["scheduler", "--kubeconfig", "kc"])
        .ends_with(2)
        .complains("--kubeconfig kc: this build has no client of clusters")
        .complains("cargo build --release --features live");
}

#[cfg(feature = "live")]
mod with_a_client {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpStream;
    use std::process::{Child, ChildStdout};
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, kill_process};
    use serde_json::{Value, json};

    use crate::support::{Answer, Folder, command, schedlab_in};

    /// Tests that wait longer than this hang.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// A child that is killed when the test is over.
    struct Running {
        child: Child,
        stdout: BufReader<ChildStdout>,
        said: String,
    }

    impl Running {
        fn start(folder: &Folder, args: &[&str]) -> Running {
            let mut child = command(args).current_dir(folder.path()).spawn().expect("the binary runs");
            let stdout = BufReader::new(child.stdout.take().expect("piped"));
            Running { child, stdout, said: String::new() }
        }

        /// Reads until a line has this text; what follows it in that line.
        #[track_caller]
        fn says(&mut self, text: &str) -> String {
            loop {
                let mut line = String::new();
                let count = self.stdout.read_line(&mut line).expect("UTF-8");
                self.said.push_str(&line);
                if 0 == count {
                    let mut stderr = String::new();
                    self.child.stderr.take().map(|mut pipe| pipe.read_to_string(&mut stderr));
                    panic!("no {text:?} in {:?}\n{stderr}", self.said);
                }
                if let Some((_, rest)) = line.split_once(text) {
                    return rest.trim().to_owned();
                }
            }
        }

        /// Ends as a cluster ends its pods.
        fn terminate(mut self) -> Answer {
            let pid = Pid::from_raw(self.child.id().cast_signed()).expect("a process");
            kill_process(pid, Signal::TERM).expect("it runs");
            let mut rest = String::new();
            self.stdout.read_to_string(&mut rest).expect("UTF-8");
            let mut stderr = String::new();
            self.child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("UTF-8");
            let code = self.child.wait().expect("it ends").code().unwrap_or(-1);
            Answer { code, stdout: format!("{}{rest}", self.said), stderr }
        }
    }

    impl Drop for Running {
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    /// Body of an answer.
    fn ask(address: &str, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let length =
            if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Type: application/json\r\n{length}\r\n{body}"
        )
        .expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("UTF-8");
        let code = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status line");
        (code, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
    }

    fn get(address: &str, path: &str) -> Value {
        serde_json::from_str(&ask(address, "GET", path, "").1).expect("JSON")
    }

    #[track_caller]
    fn wait_for(what: &str, holds: impl Fn() -> bool) {
        let begun = Instant::now();
        while !holds() {
            assert!(begun.elapsed() < PATIENCE, "{what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn scheduler_leads_binds_reports_and_gives_its_lease_back_on_sigterm() {
        let folder = Folder::new();
        let serve = ["apiserver", "--nodes", "100", "--listen", "127.0.0.1:0", "--kubeconfig-out", "kc"];
        let mut server = Running::start(&folder, &serve);
        let url = server.says("Serving the Kubernetes API on http://");
        let api = url.split(' ').next().expect("an address").to_owned();
        let of_scheduler =
            ["scheduler", "--kubeconfig", "kc", "--leader-elect", "--bind-address", "127.0.0.1:0"];
        let mut scheduler = Running::start(&folder, &of_scheduler);
        let endpoints = scheduler.says("Health and metrics on http://");
        scheduler.says("Scheduling (Ctrl-C ends it)");
        for name in ["a", "b", "c"] {
            let pod = json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            });
            let (code, body) = ask(&api, "POST", "/api/v1/namespaces/default/pods", &pod.to_string());
            assert_eq!(code, 201, "{body}");
        }
        let node = |name: &str| {
            get(&api, &format!("/api/v1/namespaces/default/pods/{name}"))["spec"]["nodeName"].is_string()
        };
        wait_for("all are bound", || ["a", "b", "c"].iter().all(|name| node(name)));
        assert_eq!(ask(&endpoints, "GET", "/readyz", "").1, "ok");
        let scheduled =
            "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"scheduled\"} 3";
        wait_for("the metrics say so", || ask(&endpoints, "GET", "/metrics", "").1.contains(scheduled));
        let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler";
        let holder = || get(&api, lease)["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
        assert!(!holder().is_empty());
        scheduler.terminate().ends_with(143).says("Ended after 3 attempts; calls: 3 pod_binding (success)");
        assert_eq!(holder(), "");
        server.terminate().ends_with(143);
    }

    #[test]
    fn unreachable_server_missing_context_and_extenders_are_refused() {
        let folder = Folder::new();
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        });
        folder.file("kc", kubeconfig.to_string());
        let config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
                      extenders: [{urlPrefix: 'http://127.0.0.1:1', filterVerb: filter}]\n";
        folder.file("extended.yaml", config);
        let cases: [(&[&str], &str); 4] = [
            (&["--kubeconfig", "kc"], "--kubeconfig: http://127.0.0.1:1: "),
            (&["--kubeconfig", "kc", "--context", "there"], "kc: there is no context \"there\"; it has here"),
            (&["--kubeconfig", "absent"], "absent"),
            (&["--kubeconfig", "kc", "--config", "extended.yaml"], "extended.yaml: extenders: "),
        ];
        for (args, message) in cases {
            let args: Vec<&str> = ["scheduler"].into_iter().chain(args.iter().copied()).collect();
            schedlab_in(&folder, &args).ends_with(2).complains(message);
        }
    }
}
