"""Kubernetes' rules about CustomResourceDefinitions, each with the definition that breaks it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from olmctl.validation.crd_rules import definition_faults
from olmctl.validation.loaded_bundle import Document
from tests.bundle_files import ABSENT, CRD, changed

LABEL_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end "
    "with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
V1 = CRD["spec"]["versions"][0]
V2 = changed(V1, name="v2", storage=False)
OLD = changed(
    changed(CRD, apiVersion="apiextensions.k8s.io/v1beta1"),
    spec__versions=[{"name": "v1", "served": True, "storage": True}],
    spec__preserveUnknownFields=False,
)
COLUMN = {"name": "a", "type": "x", "jsonPath": ".a"}
UNUSED = {"clientConfig": {}, "conversionReviewVersions": ["v1"]}
SERVICE = {"name": "a", "namespace": "b"}


def texts(value: Any) -> list[str]:
    """The errors without the field and value before them."""
    document = Document("manifests/crd.yaml", orjson.dumps(value), value)
    found = list(definition_faults(document))
    assert all(
        each.message.startswith(f"Error: Field {each.field}, Value {each.value}: {each.field}: ") for each in found
    )
    return [each.message.removeprefix(f"Error: Field {each.field}, Value {each.value}: ") for each in found]


def webhook(**client: Any) -> Any:
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}
    return changed(CRD, spec__conversion=conversion)


def columns(**column: Any) -> Any:
    given = {"name": "a", "type": "string", "jsonPath": ".spec.a", **column}
    return changed(CRD, spec__versions=[changed(V1, additionalPrinterColumns=[given])])


def scale(**paths: Any) -> Any:
    given = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", **paths}
    return changed(CRD, spec__versions=[changed(V1, subresources={"scale": given})])


def selectable(*paths: str) -> Any:
    schema = {"openAPIV3Schema": {"properties": {"spec": {"properties": {"a": {"type": "string"}, "b": {"type": "object"}}},
                                                 "metadata": {"properties": {"name": {"type": "string"}}}}}}  # fmt: skip
    fields = [{"jsonPath": path} for path in paths]
    return changed(CRD, spec__versions=[changed(V1, schema=schema, selectableFields=fields)])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(CRD, [], id="a definition"),
        pytest.param(OLD, [], id="one of v1beta1"),
        pytest.param(
            changed(OLD, spec__preserveUnknownFields=ABSENT),
            ["spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to "
             "true in spec.versions[*].schema instead"],
            id="v1beta1 preserves unknown fields",
        ),
        pytest.param(
            changed(CRD, spec__group=""),
            ['metadata.name: Invalid value: "lamps.light.example.com": must be spec.names.plural+"."+spec.group',
             "spec.group: Required value"],
            id="no group",
        ),
        pytest.param(
            changed(CRD, spec__scope="Global"),
            ['spec.scope: Unsupported value: "Global": supported values: "Cluster", "Namespaced"'], id="another scope",
        ),
        pytest.param(
            changed(CRD, spec__names={"plural": "lamps", "kind": "La mp", "shortNames": ["L"]}),
            [f'spec.names.singular: Invalid value: "la mp": {LABEL_1035}',
             f'spec.names.kind: Invalid value: "La mp": may have mixed case, but should otherwise match: {LABEL_1035}',
             f'spec.names.listKind: Invalid value: "La mpList": may have mixed case, but should otherwise match: {LABEL_1035}',
             f'spec.names.shortNames[0]: Invalid value: "L": {LABEL_1035}'],
            id="names",
        ),
        pytest.param(
            changed(CRD, spec__names={"plural": "lamps"}),
            ["spec.names.singular: Required value", "spec.names.kind: Required value", "spec.names.listKind: Required value"],
            id="no kind",
        ),
        pytest.param(changed(CRD, spec__versions=[V1, V2]), [], id="two versions"),
        pytest.param(
            changed(CRD, spec__versions=[V1, changed(V2, storage=True, name="V2")]),
            [f'spec.versions[1].name: Invalid value: "V2": {LABEL_1035}',
             "spec.versions: Invalid value: must have exactly one version marked as storage version"],
            id="two storage versions",
        ),
        pytest.param(
            changed(CRD, spec__versions=[changed(V1, deprecationWarning="old")]),
            ['spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions'],
            id="a warning of a version that is not deprecated",
        ),
        pytest.param(
            changed(CRD, spec__versions=[changed(V1, deprecated=True, deprecationWarning="")]),
            ['spec.versions[0].deprecationWarning: Invalid value: "": must not be an empty string'], id="an empty warning",
        ),
        pytest.param(
            changed(OLD, spec__version="v2"),
            ['spec.version: Invalid value: "v2": must match the first version in spec.versions'], id="another version first",
        ),
        pytest.param(
            changed(OLD, spec__versions=[V1]),
            ["spec.versions: Invalid value: per-version schemas may not all be set to identical values (top-level validation "
             "should be used instead)"],
            id="v1beta1 with equal schemas",
        ),
        pytest.param(
            changed(OLD, spec__versions=[V1], spec__validation={}),
            ["spec.validation: Forbidden: top-level and per-version schemas are mutually exclusive",
             "spec.versions: Invalid value: per-version schemas may not all be set to identical values (top-level validation "
             "should be used instead)"],
            id="v1beta1 with schemas in both places",
        ),
        pytest.param(
            columns(name="", type="", format="x", jsonPath=""),
            ["spec.additionalPrinterColumns[0].name: Required value",
             "spec.additionalPrinterColumns[0].type: Required value: must be one of boolean,date,integer,number,string",
             'spec.additionalPrinterColumns[0].format: Invalid value: "x": must be one of '
             "byte,date,date-time,double,float,int32,int64,password",
             "spec.additionalPrinterColumns[0].JSONPath: Required value"],
            id="a printer column",
        ),
        pytest.param(
            changed(CRD, spec__versions=[changed(V1, additionalPrinterColumns=[COLUMN]), V2]),
            ['spec.versions[0].additionalPrinterColumns[0].type: Invalid value: "x": must be one of '
             "boolean,date,integer,number,string"],
            id="a printer column of one version",
        ),
        pytest.param(
            scale(specReplicasPath="spec.replicas", statusReplicasPath="", labelSelectorPath=".metadata.a"),
            ['spec.subresources.scale.specReplicasPath: Invalid value: "spec.replicas": must be a simple json path starting '
             "with .",
             'spec.subresources.scale.labelSelectorPath: Invalid value: ".metadata.a": should be a json path under either '
             ".spec or .status"],
            id="scaling; what has status in its path is left out",
        ),
        pytest.param(selectable(".spec.a"), [], id="a selectable field"),
        pytest.param(
            selectable(".spec.x", ".spec.b", ".spec['a']", "spec", ".metadata.name", ""),
            ['spec.selectableFields[0].jsonPath: Invalid value: ".spec.x": is an invalid path: does not refer to a valid field',
             'spec.selectableFields[1].jsonPath: Invalid value: ".spec.b": must point to a field of type string, boolean or '
             "integer. Enum string fields and strings with formats are allowed.",
             'spec.selectableFields[2].jsonPath: Invalid value: ".spec[\'a\']": is an invalid path: array notation is not '
             "allowed",
             'spec.selectableFields[3].jsonPath: Invalid value: "spec": is an invalid path: expected [ or . but got: spec',
             'spec.selectableFields[4].jsonPath: Invalid value: ".metadata.name": must not point to fields in metadata',
             "spec.selectableFields[5].jsonPath: Required value"],
            id="selectable fields",
        ),
        pytest.param(
            changed(CRD, spec__conversion={"strategy": "None", "webhook": UNUSED}),
            ["spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
             "spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook"],
            id="a webhook that is not used",
        ),
        pytest.param(
            changed(CRD, spec__conversion={"strategy": "Magic"}),
            ['spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"'], id="another strategy",
        ),
        pytest.param(
            webhook(), ["spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required"],
            id="neither url nor service",
        ),
        pytest.param(webhook(service=SERVICE), [], id="a service"),
        pytest.param(
            webhook(service={"port": 0, "path": "a/B"}),
            ["spec.conversion.webhookClientConfig.service.name: Required value: service name is required",
             "spec.conversion.webhookClientConfig.service.namespace: Required value: service namespace is required",
             "spec.conversion.webhookClientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and "
             "65535, inclusive",
             "spec.conversion.webhookClientConfig.service.path: Invalid value: \"a/B\": must start with a '/'",
             'spec.conversion.webhookClientConfig.service.path: Invalid value: "a/B": segment[0] may not be empty',
             'spec.conversion.webhookClientConfig.service.path: Invalid value: "a/B": segment[1]: a lowercase RFC 1123 '
             "subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an "
             "alphanumeric character (e.g. 'example.com', regex used for validation is "
             "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"],
            id="a service with faults",
        ),
        pytest.param(
            webhook(url="http://u@h/?q#f"),
            ['spec.conversion.webhookClientConfig.url: Invalid value: "http": \'https\' is the only allowed URL scheme; desired '
             "format: https://host[/path]",
             'spec.conversion.webhookClientConfig.url: Invalid value: "u": user information is not permitted in the URL',
             'spec.conversion.webhookClientConfig.url: Invalid value: "f": fragments are not permitted in the URL',
             'spec.conversion.webhookClientConfig.url: Invalid value: "q": query parameters are not permitted in the URL'],
            id="a url",
        ),
        pytest.param(
            changed(CRD, spec__conversion={"strategy": "Webhook", "webhook": {
                "clientConfig": {"service": SERVICE}, "conversionReviewVersions": ["v2", "v2", "V3"]}}),
            ['spec.conversion.conversionReviewVersions[1]: Invalid value: "v2": duplicate version',
             f'spec.conversion.conversionReviewVersions[2]: Invalid value: "V3": {LABEL_1035}',
             "spec.conversion.conversionReviewVersions: Invalid value: must include at least one of v1, v1beta1"],
            id="review versions",
        ),
        pytest.param(
            changed(CRD, spec__preserveUnknownFields=True, spec__versions=[
                changed(V1, schema={"openAPIV3Schema": {"properties": {"a": {"items": {"default": 1}}}}})]),
            ["spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the schema",
             "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to "
             "true in spec.versions[*].schema instead"],
            id="defaults and unknown fields",
        ),
        pytest.param(changed(CRD, spec__versions=[changed(V1, schema=ABSENT)]), [], id="no schema, which upstream leaves out"),
        pytest.param(
            changed(CRD, metadata={"name": "lamps.a.k8s.io", "annotations": {"api-approved.kubernetes.io": "yes"}},
                    spec__group="a.k8s.io"),
            ['metadata.annotations[api-approved.kubernetes.io]: Invalid value: "yes": protected groups must have approval '
             'annotation "api-approved.kubernetes.io" with either a URL or a reason starting with "unapproved", see '
             "https://github.com/kubernetes/enhancements/pull/1111"],
            id="a group of Kubernetes",
        ),
        pytest.param(
            changed(CRD, metadata={"name": "lamps.a.k8s.io", "annotations": {"api-approved.kubernetes.io": "unapproved, a test"}},
                    spec__group="a.k8s.io"),
            [], id="a group of Kubernetes that is not approved",
        ),
    ],
)  # fmt: skip
def test_definitions(value: Any, expected: list[str]) -> None:
    assert texts(value) == expected
