"""All sample Catalogs applied together: a package that all offer is installed, from the one with the highest priority."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from devcluster.demo.sample_catalog import SAMPLES
from devcluster.images import Catalog, Registry
from devcluster.watch import CATALOGS, is_true
from tests.e2e.packages import catalog_file, package_blobs, push_bundle, registry_bundle
from tests.e2e.stage import Stage

FILES = ("redhat-operators", "certified-operators", "community-operators", "operatorhubio")


def sample(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((SAMPLES / f"{name}.yaml").read_text())
    return found


@pytest.fixture
def offered(stage: Stage) -> str:
    """A package that all sample Catalogs offer, whose images the registry of the cluster has under the name of each host."""
    if not stage.cluster.is_managed:
        pytest.skip("the samples use names that may exist on the cluster of the user")
    package = stage.name[:30].strip("-")
    image = push_bundle(stage, package, registry_bundle(package))
    files = catalog_file(package_blobs(package, {"1.0.0": image}))
    for name in FILES:
        host, _, path = sample(name)["spec"]["source"]["image"]["ref"].partition("/")
        Catalog(Registry(stage.cluster.registry), path, host).push_files(files)
    return package


def test_the_sample_catalogs_can_be_applied_together(stage: Stage, offered: str) -> None:
    for name in FILES:
        stage.apply(sample(name))
    stage.until(
        CATALOGS, "all are Ready", lambda objects: all(is_true(objects.get(name), "Ready") for name in FILES), 120
    )
    operator = stage.operator(offered, offered)
    found = stage.operator_when(
        operator, "is resolved", lambda o: is_true(o, "Resolved") or is_true(o, "Stalled"), seconds=60
    )
    assert is_true(found, "Resolved"), found["status"]
    installed = stage.ready_operator(operator, "1.0.0")
    assert installed["status"]["installed"]["catalog"] == "redhat-operators"


def test_the_samples_of_olm_v1_are_accepted(stage: Stage) -> None:
    for path in sorted((SAMPLES / "v1").iterdir()):
        count = len(list(yaml.safe_load_all(path.read_text())))
        command = ("create", "--dry-run=server", "--validate=strict", "-f", str(path))
        assert stage.cluster.kubectl(*command).count("created (server dry run)") == count, path.name


def test_the_quickstart_has_the_same_catalog() -> None:
    catalog, _ = yaml.safe_load_all((SAMPLES / "quickstart.yaml").read_text())
    assert catalog == sample("operatorhubio")
