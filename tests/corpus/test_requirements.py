"""Real catalogs: every dependency property is read as a constraint, and what bundles require of the cluster is readable."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from olmkit.fbc import catalog
from olmkit.fbc.resolution_document import ResolutionBlobs, build_document, bundle_part
from operator_controller.resolve.documents.document_reader import read_document
from operator_controller.resolve.package.package_content import DEPENDENCY_TYPES, PackageContent
from operator_controller.resolve.requirements.bundle_constraints import BundleConstraints, read_constraints
from operator_controller.resolve.requirements.constraints import KnownCluster, describe, unmet_cluster_requirement

pytestmark = pytest.mark.corpus


@pytest.fixture(params=["corpus", "dependency_corpus"])
def source(request: pytest.FixtureRequest) -> Path:
    """The directory of packages of each corpus."""
    directory: Path = request.getfixturevalue(request.param)
    return directory / "catalog"


def blobs(package: Path) -> Iterator[dict[str, Any]]:
    """The blobs of one package, read without the reader of catalogs."""
    text, position = (package / "catalog.json").read_text().strip(), 0
    while position < len(text):
        value, position = json.JSONDecoder().raw_decode(text, position)
        yield value
        position += len(text[position:]) - len(text[position:].lstrip())


def package_of(directory: Path) -> PackageContent:
    """The package as operator-controller gets it."""
    found = list(blobs(directory))
    bundles = [bundle_part(catalog.bundle(blob)) for blob in found if blob["schema"] == "olm.bundle"]
    document = build_document(ResolutionBlobs(directory.name, None, [], bundles, [], []), "sha256:0")
    return read_document(document).content


def test_every_dependency_is_read_as_one_constraint(source: Path) -> None:
    wanted, found, problems = Counter[str](), Counter[str](), dict[str, str]()
    for directory in sorted(source.iterdir()):
        for blob in blobs(directory):
            properties = {
                json.dumps(each, sort_keys=True)
                for each in blob.get("properties", ())
                if each["type"] in DEPENDENCY_TYPES
            }
            wanted[directory.name] += len(properties)
        for bundle in package_of(directory).bundles.values():
            constraints = read_constraints(bundle.properties)
            found[directory.name] += len(constraints.required) + len(constraints.exclusions)
            if problem := bundle.problem or constraints.problem:
                problems[bundle.name] = problem
            assert all(describe(each) for each in constraints.required)
    assert found == wanted
    assert problems == {}
    assert found.total() > 0


def test_what_is_not_known_of_the_cluster_excludes_no_bundle(source: Path) -> None:
    for directory in source.iterdir():
        for bundle in package_of(directory).bundles.values():
            assert unmet_cluster_requirement(bundle, KnownCluster()) == ""


@pytest.mark.parametrize(
    ("package", "bundle", "sentences"),
    [
        pytest.param(
            "mercury-operator",
            "mercury-operator.v1.0.2",
            [
                "a provider of camel.apache.org/v1 Integration",
                "a provider of kafka.strimzi.io/v1beta2 Kafka",
                "a provider of kafka.strimzi.io/v1beta2 KafkaTopic",
                "a provider of kafka.strimzi.io/v1beta2 KafkaUser",
                "camel-k v1.9.0",
                "strimzi-kafka-operator v0.28.0",
            ],
            id="exact versions",
        ),
        pytest.param(
            "dbaas-operator",
            "dbaas-operator.v0.5.0",
            [
                'ack-rds-controller ">=0.0.27 <=0.1.3"',
                'rh-service-binding-operator ">=1.0.0" ("Package rh-service-binding-operator is needed") or '
                'service-binding-operator ">=1.0.0" ("Package service-binding-operator is needed") '
                '("Service Binding Operator is required")',
            ],
            id="alternatives with the author's messages",
        ),
        pytest.param(
            "rabbitmq-messaging-topology-operator",
            "rabbitmq-messaging-topology-operator.v1.15.0",
            ["a provider of rabbitmq.com/v1beta1 RabbitmqCluster", 'rabbitmq-cluster-operator ">2.0.0"'],
            id="a package and a kind",
        ),
    ],
)
def test_real_requirements_as_sentences(
    dependency_corpus: Path, package: str, bundle: str, sentences: list[str]
) -> None:
    directory = dependency_corpus / "catalog" / package
    found: BundleConstraints = read_constraints(package_of(directory).bundles[bundle].properties)
    assert sorted(map(describe, found.required)) == sentences
