"""`olm` on a cluster: a person finds a package, installs, explains, upgrades and removes it.

The package is our own hello-operator: 0.1.0 and 0.2.0 in the channel stable, and 0.3.0 in candidate.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator

import pytest

from devcluster.demo.sample_catalog import SAMPLES
from devcluster.images import Content
from olmctl.questions.errors import NothingFound
from olmctl.questions.offered_versions import check_version
from olmctl.questions.packages import PackageEntry
from olmctl.questions.session import Session
from olmkit.api.package_annotations import VERSIONS_ANNOTATION
from olmkit.runtime.client import Client
from olmkit.runtime.flags import Settings
from tests.e2e.stage import Stage
from tests.forked_programs import ForkedOlm

pytestmark = pytest.mark.timeout(900)  # some thirty commands, one after the other

PACKAGE = "hello-operator"
RESOURCE = f"operator.operators.operatorframework.io/{PACKAGE}"
CONTENT = Content(SAMPLES / "catalog", SAMPLES / "bundles")


class Person:
    """Somebody at a shell without a terminal, with the cluster's kubeconfig."""

    def __init__(self, stage: Stage, olm: ForkedOlm, catalog: str) -> None:
        self.stage = stage
        self._olm = olm
        self.catalog = catalog

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Exit status, stdout, stderr."""
        environment = {**os.environ, "KUBECONFIG": str(self.stage.cluster.kubeconfig)}
        done = self._olm.run(*arguments, environment=environment)
        return done.returncode, done.stdout, done.stderr

    def olm(self, *arguments: str) -> str:
        """stdout of a command that has to succeed without a warning."""
        status, out, err = self.run(*arguments)
        assert (status, "warning" in err) == (0, False), err
        return out


@pytest.fixture
def person(stage: Stage, forked_olm: ForkedOlm) -> Iterator[Person]:
    stage.publish(CONTENT, [PACKAGE, "notebook-operator"])
    mine = Person(stage, forked_olm, stage.ready_catalog(stage.repository().reference))
    try:
        yield mine
    finally:
        mine.stage.cluster.kubectl(
            "delete", "operators.operators.operatorframework.io", PACKAGE, "--ignore-not-found", "--timeout=90s"
        )


def test_packages_are_found_and_shown(person: Person) -> None:
    header, row = person.olm("search", "greet").splitlines()
    assert header.split() == ["PACKAGE", "CATALOG", "LATEST", "INSTALLED", "PROVIDER", "DESCRIPTION"]
    assert row.split()[:4] == [PACKAGE, person.catalog, "0.2.0", "<none>"]
    shown = person.olm("show", PACKAGE)
    assert f"Catalog:       {person.catalog}\n" in shown
    assert ["candidate", f"{PACKAGE}.v0.3.0", "0.3.0", "3"] in [line.split() for line in shown.splitlines()]
    (found,) = json.loads(person.olm("show", PACKAGE, "-o", "json"))["packages"]
    assert (found["name"], found["defaultChannel"]) == (PACKAGE, "stable")


def greet(person: Person, name: str) -> None:
    """Create a custom resource of the package."""
    body = {
        "apiVersion": "hello.example.com/v1alpha1",
        "kind": "Greeting",
        "metadata": {"name": name, "namespace": "default"},
    }
    person.stage.cluster.kubectl("create", "-f", "-", input=json.dumps({**body, "spec": {"message": "x"}}))


def test_the_life_of_an_operator(person: Person) -> None:
    status, out, err = person.run("install", PACKAGE, "--version", "0.1.0", "--wait")
    assert (status, out.splitlines()) == (
        0,
        [f"{RESOURCE} created", f"{RESOURCE} installed: 0.1.0 from catalog {person.catalog}, channel stable"],
    )
    assert err.splitlines()[-1].startswith(f"{PACKAGE}: ")
    ((_, *row),) = [line.split() for line in person.olm("list").splitlines() if line.startswith(PACKAGE)]
    assert row[:-1] == [PACKAGE, "0.1.0", "0.1.0", "0.2.0", "stable", person.catalog, "Ready"]
    assert "0.1.0" in person.olm("search", PACKAGE).splitlines()[1].split()[3]

    graph = person.olm("graph", PACKAGE)
    assert f"    {PACKAGE}.v0.1.0 (running)\n" in graph
    assert f"    {PACKAGE}.v0.2.0 (head, in reach)\n      from {PACKAGE}.v0.1.0 (replaces)\n" in graph
    assert "classDef running" in person.olm("graph", PACKAGE, "--channel", "stable", "-o", "mermaid")

    assert person.olm("upgrade", PACKAGE, "--version", "", "--wait").splitlines() == [
        f"{RESOURCE} configured: version removed (before: 0.1.0)",
        f"{RESOURCE} installed: 0.2.0 from catalog {person.catalog}, channel stable",
    ]
    assert "Resolution:" in person.olm("why", PACKAGE)
    status, out, err = person.run("upgrade", PACKAGE, "--version", "0.1.0")
    assert (status, out) == (5, "")
    assert err.startswith(
        f"{PACKAGE}: no catalog upgrades 0.2.0 to 0.1.0: from there, upgrades lead to 0.3.0. `olm graph`"
    )

    first, second, *rest = person.olm("tree", PACKAGE).splitlines()[1:]
    assert first.startswith(f"Operator/{PACKAGE} ")
    assert second.split() == ["└──", f"BundleDeployment/{PACKAGE}", "Ready"]
    shown = dict(line.split()[-2:] for line in rest)
    assert shown["CustomResourceDefinition/greetings.hello.example.com"] == "Healthy"
    assert {"Healthy", "Ready"} >= set(shown.values())

    greet(person, "one")
    greet(person, "two")
    preview = person.olm("uninstall", PACKAGE, "--dry-run")
    assert f"Operator {PACKAGE} (0.2.0 from catalog {person.catalog}, channel stable) will be deleted.\n" in preview
    assert "greetings.hello.example.com, AND WITH IT 2 greetings.hello.example.com\n" in preview
    status, out, err = person.run("uninstall", PACKAGE)
    assert (status, out, err.splitlines()[-1]) == (5, "", f"{PACKAGE} is not deleted: confirm it with --yes")
    assert person.olm("uninstall", PACKAGE, "--yes", "--wait") == f"{RESOURCE} deleted\n"
    assert not person.stage.exists("crd", "greetings.hello.example.com")


def test_a_version_that_the_catalog_does_not_offer_is_refused_before_anything_is_created(person: Person) -> None:
    text = f"package {PACKAGE} has no version 7.7.7: it has 0.1.0, 0.2.0, 0.3.0\n"
    assert person.run("install", PACKAGE, "--version", "7.7.7") == (3, "", text)
    assert not person.stage.exists("operators.operators.operatorframework.io", PACKAGE)
    kubeconfig = str(person.stage.cluster.kubeconfig)
    listed = {"metadata": {"annotations": {VERSIONS_ANNOTATION: "0.3.0 and 2 more"}}}
    entries = [PackageEntry(PACKAGE, person.catalog, listed)]

    async def check(version: str) -> None:
        async with Client(kubeconfig) as client:
            await check_version(Session(client, Settings.system_namespace), entries, version, None)

    asyncio.run(check("0.1.0"))
    with pytest.raises(NothingFound, match=r"it has 0\.1\.0, 0\.2\.0, 0\.3\.0$"):
        asyncio.run(check("7.7.7"))


def test_an_installation_that_waits_for_approval(person: Person) -> None:
    status, out, err = person.run("install", PACKAGE, "--approval", "Manual", "--wait")
    assert (status, out) == (5, f"{RESOURCE} created\n")
    assert err.splitlines()[-1] == f"{PACKAGE}: version 0.2.0 waits for approval (olm approve {PACKAGE})"
    assert person.olm("approve", PACKAGE, "--version", "0.2.0", "--wait").splitlines() == [
        f"{RESOURCE} approved: version 0.2.0",
        f"{RESOURCE} installed: 0.2.0 from catalog {person.catalog}, channel stable",
    ]
