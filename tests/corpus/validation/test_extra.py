"""What olm finds beyond upstream: in faulty bundles what is wrong with them, in real ones nothing that keeps none from being
installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmctl.validation.checks import Options, validated
from olmctl.validation.file_tree import read_tree
from olmctl.validation.finding import ERROR, Finding
from tests.corpus.sample import at_least, sampled_bundles
from tests.corpus.validation.verdicts import faulty

pytestmark = pytest.mark.corpus

SUITE = "suite=operatorframework"
FAULTY = {
    "annotation-number": "default-channel",
    "annotations-other-name": "annotations-file-name",
    "annotations-twice": "annotations-files",
    "channels-name-unconventional": "channel-name",
    "channels-spaces": "channels",
    "crd-not-served": "crd-not-served",
    "crd-permission-star-group": "crd-permission-all-groups",
    "crd-schema-default-wrong": "crd-schema",
    "crd-schema-missing": "crd-schema-missing",
    "crd-schema-null": "crd-schema-missing",
    "crd-status-subresource-missing": "crd-status",
    "csv-apiversion-v1": "csv-other-api-version",
    "csv-name-leading-zero": "version-name",
    "csv-unknown-field": "unknown-field",
    "csv-version-leading-v": "version",
    "default-channel-not-listed": "default-channel",
    "examples-spec-string": "example-schema",
    "icon-not-base64": "icon-data",
    "installmodes-unknown": "install-mode",
    "manifest-apiversion-missing": "api-version",
    "manifests-label-parent": "bundle-directory",
    "object-in-two-files": "object-twice",
    "object-name-uppercase": "object-name",
    "package-invalid-characters": "package-name",
    "properties-unclosed": "properties-file",
    "replaces-itself": "replaces-itself",
    "resources-only-cpu": "resource-requests-partial",
    "scorecard-config-unclosed": "scorecard-config",
    "silent-descriptor-path-unknown": "descriptor-path",
    "silent-env-twice": "env-twice",
    "silent-image-missing": "image",
    "silent-pdb-max-zero": "disruption-budget",
    "silent-priorityclass-default": "priority-class",
    "silent-relatedimages-missing-image": "related-image",
    "silent-rolebinding-no-role": "role-missing",
    "silent-selector-differs": "deployment-selector",
    "silent-serviceaccount-of-rules-unused": "permission-account",
    "skips-invalid": "skips",
    "webhook-conversion-unknown-crd": "webhook-conversion",
    "webhook-no-generatename": "webhook-name",
}
"""Bundles in which upstream finds no error -> the rule of olm that the fault breaks."""
REAL = {
    "crd-v1beta1": {
        "hedvig-operator/1.0.0-beta",
        "hedvig-operator/1.0.1",
        "ibmcloud-operator/1.0.11",
        "ibmcloud-operator/1.0.12",
        "lib-bucket-provisioner/1.0.0",
        "nexus-operator-m88i/0.4.0",
        "nexus-operator-m88i/0.5.0",
        "openshift-qiskit-operator/0.1.0",
        "prometheus-exporter-operator/0.2.4",
        "tidb-operator/1.1.6",
        "tidb-operator/1.1.7",
    },
    "dependencies-file": {"eventing-kogito/1.1.0", "eventing-kogito/1.2.0"},
    "removed-api": {"nexus-operator-m88i/0.4.0", "nexus-operator-m88i/0.5.0"},
}
"""Rules -> the real bundles that break them with an error: definitions and roles of v1beta1, which no cluster of today takes, and
dependencies that nobody can read. Each run reads them."""


def extra(directory: Path) -> list[Finding]:
    result = validated(read_tree(directory), str(directory), Options(selector=SUITE), str(directory))
    return [each for each in result.findings if each.extra]


def test_what_upstream_passes_over(verdicts: Path) -> None:
    silent = [
        verdict
        for verdict in faulty(verdicts)
        if verdict.exits.get("", 1) == verdict.exits.get(SUITE, 1) == verdict.exits.get("name=community", 1) == 0
    ]
    assert {verdict.bundle for verdict in silent} >= FAULTY.keys() - {"crd-schema-null"}
    for verdict in silent:
        found = extra(verdict.directory)
        if verdict.bundle in FAULTY:
            assert FAULTY[verdict.bundle] in {each.rule for each in found}, verdict.bundle
        else:
            assert found == [], verdict.bundle


def test_a_real_bundle_has_an_error_only_if_it_is_of_no_use(corpus: Path) -> None:
    bundles: dict[str, set[str]] = {}
    directories = {*sampled_bundles(path.parent for path in corpus.glob("bundles/*/*/metadata"))}
    assert len(directories) > at_least(400)
    directories |= {corpus / "bundles" / name for names in REAL.values() for name in names}
    for directory in sorted(directories):
        for each in extra(directory):
            assert each.hint
            assert each.file
            assert each.line
            if each.level == ERROR:
                bundles.setdefault(each.rule, set()).add(f"{directory.parent.name}/{directory.name}")
    assert bundles == REAL
