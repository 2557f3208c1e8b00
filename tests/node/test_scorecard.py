"""`olm bundle scorecard` with a test image of ours on a real node: what it sees of the bundle, and how failures are explained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from devcluster.demo.sample_catalog import SAMPLES
from devcluster.images import Registry
from devcluster.operators.images import with_layer
from olmctl.authoring.images.layers import compressed
from olmctl.authoring.images.layout import read as read_image
from olmctl.main import main
from release import image

BUNDLE = SAMPLES / "bundles" / "hello-operator" / "0.1.0"
HOST = "registry.example.com"
SCRIPT = b"""
import json, os, pathlib, sys
if sys.argv[1] == "broken":
    sys.exit("it broke")
if sys.argv[1] == "stores":
    files = pathlib.Path(os.environ["SCORECARD_STORAGE"])
    (files / "deep").mkdir()
    (files / "deep" / "report.txt").write_text("seen")
    (files / "deep" / "report.txt").chmod(0o600)
    (files / "passwd").symlink_to("/etc/passwd")
    sys.exit("and it failed")
bundle = pathlib.Path("/bundle")
files = sorted(str(path.relative_to(bundle)) for path in bundle.rglob("*") if path.is_file())
links = [str(path) for path in bundle.rglob("*") if path.is_symlink()]
text = (bundle / "metadata" / "annotations.yaml").read_text()
seen = {"files": files, "links": links, "namespace": os.environ["SCORECARD_NAMESPACE"], "package": "hello-operator" in text}
print(json.dumps({"results": [{"name": "sees-the-bundle", "state": "pass", "log": json.dumps(seen)}]}))
"""
CONFIG = f"""\
apiVersion: scorecard.operatorframework.io/v1alpha3
kind: Configuration
stages:
- tests:
  - {{image: "quay.io/operator-framework/scorecard-test:v1.42.3", entrypoint: [scorecard-test, basic-check-spec]}}
- parallel: true
  tests:
  - {{image: "{HOST}/scorecard/ours:v1", entrypoint: [/app/bin/python, /test.py, good], labels: {{test: good}}}}
  - {{image: "{HOST}/scorecard/ours:v1", entrypoint: [/app/bin/python, /test.py, broken], labels: {{test: broken}}}}
  - {{image: "{HOST}/scorecard/missing:v1", labels: {{test: missing}}}}
  - image: "{HOST}/scorecard/ours:v1"
    entrypoint: [/app/bin/python, /test.py, stores]
    labels: {{suite: custom, test: stores}}
    storage: {{spec: {{mountPath: {{path: /files}}}}}}
"""
SUITE = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "rukpak", "namespace": "default"},
    "spec": {
        "replicas": 0,
        "selector": {"matchLabels": {"app": "rukpak"}},
        "template": {
            "metadata": {"labels": {"app": "rukpak"}},
            "spec": {"containers": [{"name": "rukpak", "image": f"{HOST}/scorecard/ours:v1"}]},
        },
    },
}
"""A Deployment that names the image of the suite, and runs nothing."""


def test_custom_tests_run_as_pods(
    cluster: Cluster, suite_image: image.Built, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = with_layer(read_image(suite_image.archive), compressed({"test.py": SCRIPT}), {}, "a test of the scorecard")
    Registry(cluster.registry).push_image("scorecard/ours", "v1", ours)
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    cluster.kubectl("apply", "-f", "-", input=json.dumps(SUITE))
    output = tmp_path / "output"
    arguments = ["bundle", "scorecard", str(BUNDLE), "-c", str(config), "-o", "json", "-w", "20s", "-t", str(output)]
    status = main([*arguments, "--system-namespace", "default", "--kubeconfig", str(cluster.kubeconfig)])
    cluster.kubectl("delete", "deployment", "rukpak")
    items = json.loads(capsys.readouterr().out)["items"]
    own, good, broken, missing, stores = (item["status"]["results"][0] for item in items)
    assert (status, own["state"], good["state"]) == (1, "pass", "pass")
    assert json.loads(good["log"]) == {
        "files": sorted(path.relative_to(BUNDLE).as_posix() for path in BUNDLE.rglob("*") if path.is_file()),
        "links": [],
        "namespace": "default",
        "package": True,
    }
    assert (broken["state"], broken["log"].strip()) == ("fail", "it broke")
    assert broken["errors"] == ["its container ended with exit code 1 (Error)"]
    assert missing["state"] == "fail"
    assert missing["errors"][0].startswith("not within 20 seconds: its container waits: ")
    assert f"{HOST}/scorecard/missing:v1" in missing["errors"][0]
    assert (stores["state"], stores["log"].strip()) == ("fail", "and it failed")
    stored = output / "custom" / "stores"
    assert (stored / "deep" / "report.txt").read_text() == "seen"
    assert sorted(path.name for path in output.rglob("*") if path.is_file() and path.is_relative_to(stored)) == [
        "log.txt", "report.txt", "results.json",
    ]  # fmt: skip
    assert not list(output.glob(".storage-*"))
    selector = "--selector=olm.operatorframework.io/scorecard"
    cluster.kubectl("wait", "pods", "--for=delete", "--timeout=30s", selector)
    assert cluster.kubectl("get", "configmaps", selector, "--output=name") == ""
