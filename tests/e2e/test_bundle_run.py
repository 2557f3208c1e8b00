"""`olm bundle run`, `upgrade` and `cleanup` on a cluster: an author tries a bundle, upgrades it, and removes it again.

The bundles are those of the samples: hello-operator in three versions, and party-operator, which requires it. No catalog is used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from devcluster import process_service
from devcluster.demo.sample_catalog import SAMPLES
from devcluster.images import Content
from devcluster.suite import NAMESPACE
from tests.e2e.stage import Stage
from tests.e2e.test_cli import Person, greet
from tests.forked_programs import ForkedOlm

pytestmark = pytest.mark.timeout(600)  # some fifteen commands, one after the other, each a process that starts

HELLO, PARTY = "hello-operator", "party-operator"
BUNDLES = SAMPLES / "bundles"
RESOURCE = "bundledeployments.core.rukpak.io"
AUTHOR = "bundle-author"
CORE = {"apiGroups": ["core.rukpak.io"]}
RULES = [
    {**CORE, "resources": ["bundledeployments"], "verbs": ["get", "list", "watch", "create", "patch", "delete"]},
    {**CORE, "resources": ["bundles"], "verbs": ["list", "watch"]},
]
"""The rules that docs/cli.md names for the author, beside the permission to use the proxy of rukpak's Service."""


@pytest.fixture
def author(stage: Stage, forked_olm: ForkedOlm) -> Iterator[Person]:
    """Somebody without a catalog, and with rights of his own as the user AUTHOR."""
    if process_service.machine_address() is None:
        pytest.skip("the API server proxies no Service to loopback, and a directory is sent through it")
    kubectl = stage.cluster.kubectl
    subject = {"kind": "User", "name": AUTHOR, "apiGroup": "rbac.authorization.k8s.io"}
    proxy = {
        "apiGroups": [""],
        "resources": ["services/proxy"],
        "resourceNames": ["https:rukpak:https"],
        "verbs": ["update"],
    }
    objects = []
    for kind, own, place in (("ClusterRole", RULES, {}), ("Role", [proxy], {"namespace": NAMESPACE})):
        head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": AUTHOR, **place}}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": AUTHOR}
        objects += [{**head, "kind": kind, "rules": own}]
        objects += [{**head, "kind": f"{kind}Binding", "roleRef": reference, "subjects": [subject]}]
    manifests = "\n".join(map(json.dumps, objects))
    kubectl("apply", "-f", "-", input=manifests)
    try:
        yield Person(stage, forked_olm, "")
    finally:
        kubectl("delete", RESOURCE, HELLO, PARTY, "--ignore-not-found", "--timeout=90s")
        kubectl("delete", "-f", "-", "--ignore-not-found", input=manifests)


def test_a_bundle_is_tried_upgraded_and_removed(author: Person) -> None:
    run, upgrade, cleanup = (("bundle", each) for each in ("run", "upgrade", "cleanup"))
    status, out, err = author.run(
        *run, str(BUNDLES / HELLO / "0.1.0"), "--namespace=hello", "--install-mode=AllNamespaces"
    )
    assert (status, out.splitlines()[0]) == (0, f"{RESOURCE}/{HELLO} created"), err
    assert f"\n{HELLO} 0.1.0 is in namespace hello, watches all namespaces: " in out
    assert "\nkubectl apply --namespace default -f - <<'EOF'\napiVersion: hello.example.com/v1alpha1\n" in out
    (row,) = (line.split()[:-1] for line in author.olm("list").splitlines() if line.startswith(HELLO))
    assert row == [HELLO, HELLO, "0.1.0", "0.1.0", "upload", "Ready"]
    status, _, err = author.run(*run, str(BUNDLES / PARTY / "1.0.0"))
    assert (status, f'party-operator.v1.0.0 requires {HELLO} ">=0.2.0", and 0.1.0 is installed' in err) == (5, True)
    status, _, err = author.run(*upgrade, str(BUNDLES / HELLO / "0.3.0"))
    way = f"set spec.replaces to {HELLO}.v0.1.0, or let `olm bundle generate --catalog DIR` find it"
    text = f"{HELLO}.v0.3.0 is no upgrade of {HELLO}.v0.1.0: it replaces {HELLO}.v0.2.0 ({way}): --force upgrades nevertheless\n"
    assert (status, err) == (5, text)
    assert f"\n{HELLO} 0.2.0 is in namespace hello, " in author.olm(*upgrade, str(BUNDLES / HELLO / "0.2.0"))
    assert "Installed:   0.2.0\n" in author.olm("why", HELLO)

    greet(author, "one")
    status, out, err = author.run(*cleanup, HELLO)
    assert (status, out, err.splitlines()[-1]) == (5, "", f"{HELLO} is not deleted: confirm it with --yes")
    assert "greetings.hello.example.com, AND WITH IT 1 greetings.hello.example.com\n" in err
    assert author.olm(*cleanup, HELLO, "--yes") == f"{RESOURCE}/{HELLO} deleted\n"
    assert not author.stage.exists("crd", "greetings.hello.example.com")
    nothing = f"nothing of {HELLO} was installed with olm bundle run\n"
    assert author.run(*cleanup, HELLO) == (3, "", nothing)
    assert author.run(*cleanup, HELLO, "--ignore-not-found") == (0, "", nothing)


def test_an_image_is_run_by_its_reference_with_the_rights_that_are_documented(author: Person) -> None:
    pushed = author.stage.publish(Content(SAMPLES / "catalog", BUNDLES), [HELLO])
    image = pushed.images[HELLO, f"{HELLO}.v0.2.0"]
    access = ("--registries-conf", str(author.stage.cluster.registries_conf), "--allow-source-cidr", "127.0.0.0/8")
    status, out, err = author.run("bundle", "run", image, *access, f"--as={AUTHOR}")
    assert (status, f"{HELLO} 0.2.0 is in namespace " in out) == (0, True), err
    assert "note: customresourcedefinitions.apiextensions.k8s.io cannot be listed: " in err
    before = author.stage.get("bundledeployment", HELLO)["metadata"]["uid"]
    status, out, err = author.run("bundle", "run", str(BUNDLES / HELLO / "0.2.0"), f"--as={AUTHOR}")
    assert (status, out.splitlines()[0]) == (0, f"{RESOURCE}/{HELLO} configured"), err
    assert author.stage.get("bundledeployment", HELLO)["metadata"]["uid"] == before
    # What goes cannot be listed by the author, so it is asked for.
    assert author.run("bundle", "cleanup", HELLO, f"--as={AUTHOR}")[0] == 5
    status, out, err = author.run("bundle", "cleanup", HELLO, "--yes", f"--as={AUTHOR}")
    assert (status, out) == (0, f"{RESOURCE}/{HELLO} deleted\n"), err
