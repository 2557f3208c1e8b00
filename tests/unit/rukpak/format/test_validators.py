"""The thirteen rules of registry+v1, in upstream's words."""

from dataclasses import replace
from typing import Any

import pytest

from rukpak.format import RegistryBundle
from rukpak.format.validators import validation_errors
from tests.unit.rukpak.builders import Body, bundle, crd, csv, deployment, obj


def hook(
    name: str = "v.kb.io", *, kind: str = "ValidatingAdmissionWebhook", served_by: str = "manager", **more: Any
) -> Body:
    return {
        "type": kind,
        "generateName": name,
        "deploymentName": served_by,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        **more,
    }


def with_hooks(*hooks: Body, modes: tuple[str, ...] = ("AllNamespaces",)) -> RegistryBundle:
    owned = {"owned": [{"name": "things.example.com", "kind": "Thing", "version": "v1"}]}
    return bundle(csv(modes=modes, webhookdefinitions=list(hooks), customresourcedefinitions=owned), crd())


def converting(name: str, *crds: str) -> Body:
    return hook(name, kind="ConversionWebhook", conversionCRDs=list(crds))


def admitting(group: str, *resources: str) -> RegistryBundle:
    return with_hooks(hook(rules=[{"apiGroups": [group], "resources": list(resources)}]))


ADMISSION = "admissionregistration.k8s.io"
FORBIDDEN = 'webhook "v.kb.io" contains forbidden rule: admission webhook rules cannot reference'
SUBDOMAIN = "a lowercase RFC 1123 subdomain must consist of"


@pytest.mark.parametrize(
    ("broken", "wanted"),
    [
        pytest.param(bundle(crd()), [], id="nothing broken"),
        pytest.param(with_hooks(hook()), [], id="a webhook"),
        pytest.param(
            bundle(csv(install={"deployments": [deployment("a"), deployment("b"), deployment("a")]})),
            ["cluster service version contains duplicate strategy deployment spec 'a'"],
            id="1: deployments of one name",
        ),
        pytest.param(
            bundle(csv(install={"deployments": [deployment("A_b")]})),
            ["invalid cluster service version strategy deployment name 'A_b': " + SUBDOMAIN],
            id="2: the name of a deployment",
        ),
        pytest.param(
            replace(bundle(crd()), crds=(crd(), crd())),
            ["bundle contains duplicate custom resource definition 'things.example.com'"],
            id="3: CRDs of one name",
        ),
        pytest.param(
            bundle(csv(customresourcedefinitions={"owned": [{"name": "a.b", "kind": "A", "version": "v1"}]})),
            ["cluster service definition references owned custom resource definition 'a.b' not found in bundle"],
            id="4: an owned CRD that is not there",
        ),
        pytest.param(replace(bundle(), package=""), ["package name is empty"], id="5: no package"),
        pytest.param(
            with_hooks(converting("c", "things.example.com"), modes=("AllNamespaces", "OwnNamespace")),
            [
                'bundle contains conversion webhook "c" and supports install modes [AllNamespaces OwnNamespace] - conversion '
                "webhooks are only supported for bundles that only support AllNamespaces install mode"
            ],
            id="6: conversion and other modes",
        ),
        pytest.param(
            with_hooks(hook(served_by="other")),
            [
                "webhook of type 'ValidatingAdmissionWebhook' with name 'v.kb.io' references non-existent deployment 'other'"
            ],
            id="7: the deployment of a webhook",
        ),
        pytest.param(
            with_hooks(hook(), hook(), hook(kind="MutatingAdmissionWebhook")),
            ["duplicate webhook 'v.kb.io' of type 'ValidatingAdmissionWebhook'"],
            id="8: webhooks of one name and type",
        ),
        pytest.param(
            with_hooks(hook("V")),
            ["webhook of type 'ValidatingAdmissionWebhook' has invalid name 'V': " + SUBDOMAIN],
            id="9: the name of a webhook",
        ),
        pytest.param(
            with_hooks(converting("b", "things.example.com"), converting("a", "things.example.com")),
            ["conversion webhooks [a,b] reference same custom resource definition 'things.example.com'"],
            id="10: two conversions of one CRD",
        ),
        pytest.param(
            with_hooks(converting("c", "other.example.com")),
            ["conversion webhook 'c' references custom resource definition 'other.example.com' not owned bundle"],
            id="11: conversion of somebody else's CRD",
        ),
        pytest.param(admitting("*", "pods"), [f'{FORBIDDEN} API group "*"'], id="12: all groups"),
        pytest.param(
            admitting("olm.operatorframework.io", "x"),
            [f'{FORBIDDEN} API group "olm.operatorframework.io"'],
            id="12: upstream's own group",
        ),
        pytest.param(
            admitting(ADMISSION, "ValidatingWebhookConfigurations", "other"),
            [f'{FORBIDDEN} resource "ValidatingWebhookConfigurations" for API group "{ADMISSION}"'],
            id="12: configurations of webhooks, in any case",
        ),
        pytest.param(
            bundle(obj("apps/v1", "Deployment", "d"), obj("example.com/v1", "Service", "any group")),
            ['unsupported resource "d" with kind "Deployment"'],
            id="13: kinds",
        ),
    ],
)
def test_rules(broken: RegistryBundle, wanted: list[str]) -> None:
    found = validation_errors(broken)
    assert len(found) == len(wanted)
    assert all(fault.startswith(start) for fault, start in zip(found, wanted, strict=True))


def test_all_checks_run_in_order() -> None:
    broken = replace(bundle(obj("v1", "Pod", "p"), csv(install={"deployments": [deployment("A")]})), package="")
    assert [fault.split(" ")[0] for fault in validation_errors(broken)] == ["invalid", "package", "unsupported"]
