//! kubectl as people use it, where it is installed.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use schedlab_cluster::api::{NamedBinding, ObjectKey};
use schedlab_cluster::{Api as _, StatusReason};

use crate::client::{Served, serve};

/// kubectl with a kubeconfig and a home of its own; both are removed with it.
struct Kubectl(PathBuf);

impl Kubectl {
    /// None where kubectl is not installed; says so.
    fn of(served: &Served) -> Option<Kubectl> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let found = Command::new("kubectl").args(["version", "--client"]).stdout(Stdio::null()).status();
        if !found.is_ok_and(|status| status.success()) {
            let _ = writeln!(std::io::stderr(), "skipped: kubectl is not installed (.ci/run installs it)");
            return None;
        }
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let home = std::env::temp_dir().join(format!("schedlab-kubectl-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&home).expect("the temporary folder can be written");
        std::fs::write(home.join("kubeconfig"), served.server.kubeconfig()).expect("written");
        Some(Kubectl(home))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// What it says, on both streams, and whether it is content.
    fn try_run(&self, arguments: &str) -> (bool, String) {
        let kubeconfig = self.path("kubeconfig");
        let output = Command::new("kubectl")
            .env("HOME", &self.0)
            .current_dir(&self.0)
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .args(arguments.split(' '))
            .output()
            .expect("kubectl runs");
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    #[track_caller]
    fn run(&self, arguments: &str) -> String {
        let (is_content, text) = self.try_run(arguments);
        assert!(is_content, "kubectl {arguments}: {text}");
        text
    }

    #[track_caller]
    fn says(&self, arguments: &str, wanted: &str) {
        let text = self.run(arguments);
        assert!(text.contains(wanted), "kubectl {arguments}: {wanted:?} is not in:\n{text}");
    }
}

impl Drop for Kubectl {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const SHOP: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx}]}
";
const BUDGET: &str = "apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: keep, namespace: shop}
spec: {minAvailable: 1, selector: {matchLabels: {run: kept}}}
";

#[test]
fn kubectl_creates_reads_changes_and_deletes() {
    let served = serve(2);
    let Some(kubectl) = Kubectl::of(&served) else { return };
    std::fs::write(kubectl.path("shop.yaml"), SHOP).expect("written");
    kubectl.says("create namespace shop", "namespace/shop created");
    kubectl.says("apply -f shop.yaml", "deployment.apps/web created");
    kubectl.says("apply -f shop.yaml", "deployment.apps/web unchanged");
    kubectl.says("apply --server-side --force-conflicts -f shop.yaml", "serverside-applied");
    kubectl.says("scale deployment web -n shop --replicas=4", "deployment.apps/web scaled");
    kubectl.says("get deployment web -n shop -o jsonpath={.spec.replicas}", "4");
    kubectl.says("run one --image=nginx -n shop", "pod/one created");
    kubectl.says("get pods -n shop -o wide", "NOMINATED NODE");
    kubectl.says("get pods -A", "Pending");
    kubectl.says("describe pod one -n shop", "Namespace:    shop");
    kubectl
        .says("wait --for=jsonpath={.status.phase}=Pending pod/one -n shop --timeout=20s", "condition met");
    kubectl.says("annotate pod one a=b -n shop", "pod/one annotated");
    kubectl.says("delete pod one -n shop", "pod \"one\" deleted");
    kubectl.says("get events -A", "No resources found");
    kubectl.says("auth can-i create pods", "yes");
    kubectl.says("api-resources", "poddisruptionbudgets");
}

#[test]
fn kubectl_labels_taints_cordons_and_drains_nodes() {
    let served = serve(2);
    let Some(kubectl) = Kubectl::of(&served) else { return };
    kubectl.says("get nodes -o wide", "node-1");
    kubectl.says("label node node-0 disk=ssd", "node/node-0 labeled");
    kubectl.says("get nodes -l disk=ssd -o name", "node/node-0");
    kubectl.says("taint node node-0 gpu=yes:NoSchedule", "node/node-0 tainted");
    kubectl.says("describe node node-0", "gpu=yes:NoSchedule");
    kubectl.says("cordon node-1", "node/node-1 cordoned");
    kubectl.says("get node node-1", "SchedulingDisabled");
    kubectl.says("uncordon node-1", "node/node-1 uncordoned");
    kubectl.says("run gone --image=nginx", "pod/gone created");
    let binding = NamedBinding { namespace: "default", name: "gone", uid: None, node: "node-1" };
    served.cluster.bind(&binding).expect("the pod waits");
    kubectl.says("drain node-1 --force", "pod/gone evicted");
    let gone = served.cluster.get(&ObjectKey::pod("default", "gone"));
    assert_eq!(gone.expect_err("it was evicted").reason, StatusReason::NotFound);
}

#[test]
fn kubectl_dry_runs_change_nothing() {
    let served = serve(1);
    let Some(kubectl) = Kubectl::of(&served) else { return };
    for (name, text) in [("shop.yaml", SHOP), ("budget.yaml", BUDGET)] {
        std::fs::write(kubectl.path(name), text).expect("written");
    }
    kubectl.run("create namespace shop");
    kubectl.says("apply --dry-run=server -f shop.yaml", "deployment.apps/web created (server dry run)");
    let (_, text) = kubectl.try_run("get deployment web -n shop");
    assert!(text.contains("NotFound"), "{text}");
    kubectl.run("apply -f shop.yaml");
    let version = served.cluster.resource_version();
    kubectl.says("apply --server-side --dry-run=server --force-conflicts -f shop.yaml", "(server dry run)");
    kubectl.says("scale deployment web -n shop --replicas=9 --dry-run=server", "scaled (server dry run)");
    kubectl.says("label node node-0 a=b --dry-run=server", "labeled (server dry run)");
    kubectl.says("delete deployment web -n shop --dry-run=server", "deleted (server dry run)");
    kubectl.says("apply --dry-run=server -f budget.yaml", "created (server dry run)");
    assert_eq!(served.cluster.resource_version(), version, "nothing was written");
    assert!(Path::new(&kubectl.path("shop.yaml")).exists());
}
