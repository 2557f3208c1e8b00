"""Real packages that require others, resolved without a cluster."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from olmctl.authoring.directory_documents import read_directory_documents
from olmctl.offline_resolution import OfflineCatalogs, OfflineResult, PackageArgument, resolve_offline

pytestmark = pytest.mark.corpus

NO_PROVIDER = "requires a provider of nfd.openshift.io/v1 NodeFeatureDiscovery, which no catalog offers"


@cache
def catalogs(directory: Path) -> OfflineCatalogs:
    return OfflineCatalogs({"community": read_directory_documents(directory / "catalog")})


def resolved(directory: Path, *packages: str) -> OfflineResult:
    return resolve_offline([PackageArgument.parse(text) for text in packages], catalogs(directory))


@pytest.mark.parametrize(
    ("packages", "bundles"),
    [
        pytest.param(
            ["mercury-operator:stable"],
            {"mercury-operator": "1.0.2", "camel-k": "1.9.0", "strimzi-kafka-operator": "0.28.0"},
            id="exact versions, one of them outside the default channel of its package",
        ),
        pytest.param(
            ["mercury-operator"],
            {"mercury-operator": "1.0.1", "camel-k": "2.10.1", "strimzi-kafka-operator": "0.51.0"},
            id="kinds alone, because the default channel has a version without exact requirements",
        ),
        pytest.param(
            ["kubedb-installer"],
            {"kubedb-installer": "2026.2.26", "cert-manager": "1.16.5"},
            id="the kinds of cert-manager",
        ),
        pytest.param(
            ["rabbitmq-messaging-topology-operator"],
            {"rabbitmq-messaging-topology-operator": "1.19.3", "rabbitmq-cluster-operator": "2.22.3"},
            id="a package and a kind of it",
        ),
        pytest.param(
            ["lib-bucket-provisioner"],
            {"lib-bucket-provisioner": "2.0.0", "awss3-operator-registry": "1.0.0"},
            id="kinds that an older version provided itself",
        ),
        pytest.param(
            ["alloydb-omni-operator"],
            {"alloydb-omni-operator": "1.8.0", "cert-manager": "1.16.5"},
            id="the kinds of cert-manager, for another package",
        ),
        pytest.param(
            ["alloydb-omni-operator", "kubedb-installer"],
            {"alloydb-omni-operator": "1.8.0", "kubedb-installer": "2026.2.26", "cert-manager": "1.16.5"},
            id="two packages that share cert-manager",
        ),
        pytest.param(
            ["node-healthcheck-operator@<=0.8.0"],
            {"node-healthcheck-operator": "0.8.0", "self-node-remediation": "0.13.0"},
            id="a kind that the newest version of another package still provides",
        ),
        pytest.param(
            ["node-healthcheck-operator"],
            {"node-healthcheck-operator": "0.12.0"},
            id="a newer version does not require the kind any more",
        ),
        pytest.param(
            ["assisted-service-operator@0.0.1"],
            {"assisted-service-operator": "0.0.1", "hive-operator": None},
            id="a kind of another package, for a pinned old version",
        ),
        pytest.param(
            ["awss3-operator-registry@1.0.0"],
            {"awss3-operator-registry": "1.0.0"},
            id="kinds that the bundle itself provides",
        ),
        pytest.param(
            ["lib-bucket-provisioner@1.0.0"],
            {"lib-bucket-provisioner": "1.0.0"},
            id="the same kinds, provided by another bundle itself",
        ),
        pytest.param(
            ["lbconfig-operator"], {"lbconfig-operator": None}, id="a kind of its own, without any other package"
        ),
        pytest.param(
            ["opendatahub-operator@2.0.0"],
            {"opendatahub-operator": "2.0.0"},
            id="a kind of its own, in an old version",
        ),
        pytest.param(
            ["automotive-dev-operator"],
            {"automotive-dev-operator": "0.2.0"},
            id="the newest version does not require the package that no catalog has",
        ),
        pytest.param(
            ["mercury-operator:stable", "strimzi-kafka-operator"],
            {"mercury-operator": "1.0.2", "camel-k": "1.9.0", "strimzi-kafka-operator": "0.28.0"},
            id="a dependency that is requested too",
        ),
    ],
)
def test_what_is_installed(packages: list[str], bundles: dict[str, str | None], dependency_corpus: Path) -> None:
    result = resolved(dependency_corpus, *packages)
    assert result.error is None
    found = {each.package: each.version for each in result.bundles}
    assert found.keys() == bundles.keys()
    assert {name: version for name, version in found.items() if bundles[name]} == {
        k: v for k, v in bundles.items() if v
    }


@pytest.mark.parametrize(
    ("packages", "message"),
    [
        pytest.param(
            ["dbaas-operator"],
            'dbaas-operator latest requires rh-service-binding-operator ">=1.0.0"',
            id="one half of what it requires is not in the catalog: that half is named",
        ),
        pytest.param(
            ["kogito-operator@0.14.0"],
            "kogito-operator v0.14.0 requires a provider of keycloak.org/v1alpha1 Keycloak, which no catalog offers",
            id="one of four kinds has no provider",
        ),
        pytest.param(
            ["silicom-sts-operator@0.0.1"],
            f"silicom-sts-operator v0.0.1 {NO_PROVIDER}; "
            '0.0.6 of channel alpha would fit, but version "0.0.1" is requested',
            id="a kind that no package provides, and a newer version that does not require it",
        ),
        pytest.param(
            ["special-resource-operator"],
            f"special-resource-operator latest {NO_PROVIDER}",
            id="a kind that no package provides, in every version",
        ),
        pytest.param(
            ["automotive-dev-operator@0.1.0"],
            'automotive-dev-operator v0.1.0 requires openshift-pipelines-operator-rh ">=1.12.0", which no catalog offers',
            id="a package that no catalog has",
        ),
        pytest.param(
            ["mercury-operator:stable", "camel-k"],
            '1.9.0 would fit, but Operator "camel-k" follows the default channel of its package',
            id="a request for the default channel, which does not have the version that is required",
        ),
        pytest.param(
            ["awss3-operator-registry@1.0.0", "lib-bucket-provisioner@1.0.0"],
            "both own kind ObjectBucket",
            id="two bundles that own the same kinds",
        ),
        pytest.param(
            ["mercury-operator:stable", "camel-k@2.10.1"],
            "mercury-operator latest requires camel-k v1.9.0, which conflicts with camel-k v2.10.1",
            id="a request for another version than the one that is required",
        ),
    ],
)
def test_what_is_refused(packages: list[str], message: str, dependency_corpus: Path) -> None:
    result = resolved(dependency_corpus, *packages)
    assert result.bundles == ()
    assert result.error is not None
    assert message in result.error.message
    assert result.error.message.startswith("Unable to resolve because ")
    assert len(result.error.message.encode()) <= 1024


def test_every_package_by_itself_is_installed_or_refused_with_a_reason(dependency_corpus: Path) -> None:
    for package in sorted(each.name for each in (dependency_corpus / "catalog").iterdir()):
        result = resolved(dependency_corpus, package)
        if result.error is None:
            assert package in {each.package for each in result.bundles}
        else:
            assert result.error.message
            assert result.error.clauses
