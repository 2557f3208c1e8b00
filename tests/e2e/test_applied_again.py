"""An object that is applied a second time is not changed, so GitOps tools see no difference without rules that ignore fields."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from devcluster.cluster import Cluster
from devcluster.demo.sample_catalog import SAMPLES
from devcluster.images import Catalog, Content, Registry
from devcluster.suite import Suite
from tests.pages import PAGES, blocks

GROUPS = ("catalogd.operatorframework.io", "operators.operatorframework.io", "core.rukpak.io")
CLIENT_SIDE = ()
SERVER_SIDE = ("--server-side", "--field-manager=gitops", "--force-conflicts")
APPLIERS = ("kubectl-client-side-apply", "gitops")
"""The managers of what is applied. The controllers may write labels, finalizers and annotations at any time."""


def samples() -> list[Any]:
    """Our kinds in the files of config/samples and in the yaml blocks of all pages, each object once."""
    texts = {str(path.relative_to(SAMPLES)): path.read_text() for path in sorted(SAMPLES.glob("**/*.yaml"))}
    texts = {name: text for name, text in texts.items() if not name.startswith(("bundles/", "catalog/", "projects/"))}
    pages = [page for page in PAGES if "```yaml" in page.read_text()]
    texts |= {block.place: block.text for page in pages for block in blocks(page) if block.language == "yaml"}
    found: dict[str, Any] = {}
    for place, text in texts.items():
        for obj in yaml.safe_load_all(text):
            if obj["apiVersion"].partition("/")[0] in GROUPS:
                found.setdefault(json.dumps(obj), pytest.param(obj, id=f"{obj['kind']} of {place}"))
    return list(found.values())


@pytest.fixture(scope="module")
def published(cluster: Cluster, suite: Suite) -> Cluster:
    """The cluster with the sample catalog in its registry."""
    if not cluster.is_managed:
        pytest.skip("the samples use names that may exist on the cluster of the user")
    catalog = Catalog(Registry(cluster.registry), "catalogs/samples:latest", "registry.example.com")
    catalog.push(Content(SAMPLES / "catalog", SAMPLES / "bundles"))
    return cluster


@pytest.mark.parametrize("flags", [CLIENT_SIDE, SERVER_SIDE], ids=["client-side", "server-side"])
@pytest.mark.parametrize("obj", samples())
def test_the_second_apply_changes_nothing(obj: dict[str, Any], flags: tuple[str, ...], published: Cluster) -> None:
    """The controllers have written a status in between."""
    given = json.dumps(obj)
    name = f"{obj['kind'].lower()}.{obj['apiVersion'].partition('/')[0]}/{obj['metadata']['name']}"

    def spec_and_metadata() -> Any:
        found = json.loads(published.kubectl("get", name, "-o", "json", "--show-managed-fields"))
        own = [entry for entry in found["metadata"]["managedFields"] if entry["manager"] in APPLIERS]
        assert own
        return found["spec"], found["metadata"]["generation"], own

    try:
        published.kubectl("apply", *flags, "-f", "-", input=given)
        if obj["kind"] != "Package":
            published.kubectl("wait", "--for=jsonpath={.status.observedGeneration}=1", "--timeout=60s", name)
        before = spec_and_metadata()
        published.kubectl("apply", *flags, "-f", "-", input=given)
        assert spec_and_metadata() == before
        assert obj["spec"] == before[0]
        published.kubectl("diff", *flags, "-f", "-", input=given)
    finally:
        published.kubectl("delete", name, "--ignore-not-found", "--timeout=90s")
