"""`olm` on a cluster: a person finds a package, installs, explains, upgrades and removes it.

The package is our own hello-operator: 0.1.0 and 0.2.0 in the channel stable, and 0.3.0 in candidate.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from devcluster.demo.sample_catalog import SAMPLES
from devcluster.images import Content
from tests.e2e.stage import Stage

PACKAGE = "hello-operator"
RESOURCE = f"operator.operators.operatorframework.io/{PACKAGE}"
CONTENT = Content(SAMPLES / "catalog", SAMPLES / "bundles")


class Person:
    """Somebody at a shell without a terminal, with the cluster's kubeconfig."""

    def __init__(self, stage: Stage, catalog: str) -> None:
        self.stage = stage
        self.catalog = catalog

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Exit status, stdout, stderr."""
        done = subprocess.run(
            [sys.executable, "-m", "olmctl", *arguments],
            env={**os.environ, "KUBECONFIG": str(self.stage.cluster.kubeconfig)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def olm(self, *arguments: str) -> str:
        """stdout of a command that has to succeed without a warning."""
        status, out, err = self.run(*arguments)
        assert (status, "warning" in err) == (0, False), err
        return out


@pytest.fixture
def person(stage: Stage) -> Iterator[Person]:
    stage.publish(CONTENT, [PACKAGE, "notebook-operator"])
    mine = Person(stage, stage.ready_catalog(stage.repository().reference))
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
