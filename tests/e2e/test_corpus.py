"""All packages of the corpus as Operators at the same time: most are installed, and each other one truly says why not."""

import json
import re
from collections import Counter

import pytest

from devcluster.cluster import Cluster
from devcluster.corpus import default_folder, open_corpus
from devcluster.demo import whole
from devcluster.demo.narrator import Narrator
from devcluster.images import Catalog, Content, Registry
from devcluster.suite import Suite

INSTALLED_AT_LEAST = 100

# Why a package may be refused: a name for the count, and what its message says then.
TRUE_REASONS = {
    "has a webhook": r"webhook",
    "owns an APIService": r"APIService",
    "needs another package": r"olm\.package\.required",
    "needs a kind of another package": r"olm\.gvk\.required",
    "has a constraint": r"olm\.constraint",
    "has no install mode of ours": r"install mode",
    "the cluster lacks a kind": r"no such kind|lacks|kind",
    "the cluster is too old": r"minKubeVersion|Kubernetes",
    "something of that name is there": r"exists|belongs to|owned by",
    "the API server refuses an object": r"refused|invalid|Invalid",
    "the bundle cannot be read": r"bundle",
    "the package cannot be asked for": r"spec\.packageName|Operator",
}


@pytest.mark.corpus
@pytest.mark.timeout(2400)
def test_a_hundred_of_all_packages_are_installed_at_once_and_each_other_says_why(
    cluster: Cluster, suite: Suite, corpus: object
) -> None:
    opened = open_corpus(default_folder())
    content = Content(opened / "catalog", opened / "bundles")
    narrator = Narrator()
    before = _names(cluster)
    pushed = Catalog(Registry(cluster.registry), "catalogs/whole:latest", cluster.registry).push(content)
    whole.serve(cluster, narrator, pushed.reference)
    try:
        outcome = whole.install_all(cluster, narrator, content.packages())
        counted = Counter(_category(name, why) for name, why in outcome.reasons().items())
        print(json.dumps({"installed": len(outcome.installed()), **counted}, indent=1))
        assert len(outcome.installed()) >= INSTALLED_AT_LEAST, outcome.reasons()
    finally:
        cluster.kubectl("delete", "operators.operators.operatorframework.io", "--all", "--timeout=900s")
        cluster.kubectl("delete", "catalogs.catalogd.operatorframework.io", whole.CATALOG_NAME)
    assert _names(cluster) == before


def _category(name: str, why: str) -> str:
    for category, words in TRUE_REASONS.items():
        if re.search(words, why):
            return category
    raise AssertionError(f"{name} is not installed, and does not say why: {why!r}")


def _names(cluster: Cluster) -> set[str]:
    """Namespaces, CRDs and BundleDeployments there are."""
    return set(cluster.kubectl("get", "namespaces,crds,bundledeployments,clusterroles", "-o", "name").split())
