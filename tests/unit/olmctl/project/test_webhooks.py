"""The webhookdefinitions of a ClusterServiceVersion."""

from __future__ import annotations

from typing import Any

import pytest

from olmctl.project.webhooks import webhook_definitions
from tests.project_input import CRD, collection, deployment, service, stream

NAME = "v.example.com"


def configuration(fields: str = "", *, kind: str = "Validating", client: str = "", name: str = NAME) -> str:
    client = client or "{service: {name: kettle-webhook, namespace: tea, path: /validate}}"
    return f"""\
apiVersion: admissionregistration.k8s.io/v1
kind: {kind}WebhookConfiguration
metadata: {{name: hooks}}
webhooks:
- name: {name}
  clientConfig: {client}
{fields}"""


def converted(name: str, path: str = "/convert", port: str = "") -> str:
    client = f"{{name: kettle-webhook, namespace: tea, path: {path}{port}}}"
    return (
        CRD.replace("kettles", name)
        + f"""\
  conversion:
    strategy: Webhook
    webhook: {{conversionReviewVersions: [v1], clientConfig: {{service: {client}}}}}
"""
    )


def only(*objects: str) -> dict[str, Any]:
    (found,) = webhook_definitions(collection(*objects))[0]
    return found


DEFAULTS = {"sideEffects": "None", "admissionReviewVersions": ["v1beta1"]}


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param(
            (deployment(), service(), configuration()),
            {
                "type": "ValidatingAdmissionWebhook",
                "generateName": NAME,
                "deploymentName": "kettle",
                "containerPort": 443,
                "targetPort": 9443,
                "webhookPath": "/validate",
                **DEFAULTS,
            },
            id="a webhook with the defaults of upstream",
        ),
        pytest.param(
            (deployment(), service(), configuration("  reinvocationPolicy: Never\n", kind="Mutating")),
            {"type": "MutatingAdmissionWebhook", "reinvocationPolicy": "Never"},
            id="a mutating webhook",
        ),
        pytest.param(
            (service(app="other"), deployment(), configuration()),
            {"deploymentName": "kettle-webhook", "containerPort": 443},
            id="a Service that selects no Deployment",
        ),
        pytest.param(
            (configuration(client="{service: {name: a-service, namespace: tea}}"),),
            {"deploymentName": "a", "containerPort": None, "webhookPath": None},
            id="a Service that is not in the input",
        ),
        pytest.param(
            (deployment(), service(port=8443, target="web"), configuration()),
            {"deploymentName": "kettle", "containerPort": None},
            id="a Service without the port",
        ),
        pytest.param(
            (
                deployment(),
                service(port=8443, target="web"),
                configuration(client="{service: {name: kettle-webhook, namespace: tea, port: 8443}}"),
            ),
            {"containerPort": 8443, "targetPort": "web"},
            id="another port",
        ),
        pytest.param(
            (configuration(client="{url: 'https://example.com'}"),),
            {"deploymentName": None},
            id="a webhook without a Service",
        ),
        pytest.param(
            (
                configuration(
                    "  matchPolicy: Exact\n  timeoutSeconds: 3\n  failurePolicy: Ignore\n  sideEffects: Some\n"
                ),
            ),
            {"matchPolicy": "Exact", "timeoutSeconds": 3, "failurePolicy": "Ignore", "sideEffects": "Some"},
            id="fields that are copied",
        ),
        pytest.param(
            (deployment(), service(), converted("kettles")),
            {
                "type": "ConversionWebhook",
                "generateName": "ckettles.kb.io",
                "conversionCRDs": ["kettles.tea.example.com"],
                "admissionReviewVersions": ["v1"],
                "webhookPath": "/convert",
                "deploymentName": "kettle",
                "containerPort": 443,
                "targetPort": 9443,
                "sideEffects": "None",
            },
            id="a conversion",
        ),
    ],
)
def test_a_webhook(objects: tuple[str, ...], expected: dict[str, Any]) -> None:
    found = only(*objects)
    assert {name: found.get(name) for name in expected} == expected


def test_definitions_with_one_path_are_converted_by_one_webhook() -> None:
    crds = (converted("pots"), converted("cups"), converted("cans", "/other"), converted("jugs", port=", port: 8443"))
    found, _ = webhook_definitions(collection(deployment(), service(), *crds))
    assert [each["generateName"] for each in found] == ["ccans.kb.io", "ccupspots.kb.io", "cjugs.kb.io"]


def test_webhooks_are_sorted_by_name_and_count_once() -> None:
    found, _ = webhook_definitions(
        collection(configuration(name="b"), configuration(name="a"), configuration(name="b"))
    )
    assert [each["generateName"] for each in found] == ["a", "b"]


@pytest.mark.parametrize(
    ("objects", "note"),
    [
        pytest.param(
            (deployment(), service(), configuration("  namespaceSelector: {matchLabels: {a: b}}\n")),
            "its namespaceSelector is kept, but OLM ignores it",
            id="a selector of namespaces",
        ),
        pytest.param(
            (deployment(), service(), configuration("  matchConditions: [{name: a, expression: 'true'}]\n")),
            "its matchConditions is kept, but OLM ignores it",
            id="conditions",
        ),
        pytest.param((configuration(),), "the Service kettle-webhook is not in the input", id="no Service"),
        pytest.param(
            (service(), configuration()),
            "the Service kettle-webhook selects no Deployment of the input",
            id="no Deployment",
        ),
        pytest.param(
            (configuration(client="{url: 'https://a'}"),),
            "it names no Service, so OLM does not know which Deployment serves it",
            id="a URL",
        ),
    ],
)
def test_what_olm_does_differently_is_named_with_its_place(objects: tuple[str, ...], note: str) -> None:
    found, notes = webhook_definitions(collection(*objects))
    line = stream(*objects).split("\n").index(f"- name: {NAME}") + 1
    assert notes == [f"all.yaml:{line}: webhook {NAME}: {note}"]
    assert all(name in found[0] for name in ("namespaceSelector", "matchConditions") if name in note)
