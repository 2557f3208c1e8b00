"""Where the authorities and the digest of a certificate are written."""

import base64
from typing import Any

import pytest

from olmkit.api.bundledeployments import CERTIFICATE_ANNOTATION
from rukpak.certificates.secrets import inject, injected_digest
from rukpak.certificates.serving_certificate import ServingCertificate

CERTIFICATE = ServingCertificate(digest="abc", authorities="PEM")
BUNDLE = base64.b64encode(b"PEM").decode()


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        pytest.param(
            {"kind": "MutatingWebhookConfiguration", "webhooks": [{"clientConfig": {"service": {}}}]},
            {
                "kind": "MutatingWebhookConfiguration",
                "webhooks": [{"clientConfig": {"service": {}, "caBundle": BUNDLE}}],
            },
            id="webhooks",
        ),
        pytest.param(
            {"kind": "CustomResourceDefinition", "spec": {"conversion": {"webhook": {"clientConfig": {}}}}},
            {
                "kind": "CustomResourceDefinition",
                "spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": BUNDLE}}}},
            },
            id="conversion",
        ),
        pytest.param(
            {"kind": "APIService", "spec": {"version": "v1"}},
            {"kind": "APIService", "spec": {"version": "v1", "caBundle": BUNDLE}},
            id="API service",
        ),
        pytest.param(
            {"kind": "Deployment", "spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}},
            {
                "kind": "Deployment",
                "spec": {"template": {"metadata": {"annotations": {"a": "b", CERTIFICATE_ANNOTATION: "abc"}}}},
            },
            id="pods",
        ),
        pytest.param(
            {"kind": "Deployment", "spec": {"template": {}}},
            {
                "kind": "Deployment",
                "spec": {"template": {"metadata": {"annotations": {CERTIFICATE_ANNOTATION: "abc"}}}},
            },
            id="pods without metadata",
        ),
    ],
)
def test_inject(body: dict[str, Any], wanted: dict[str, Any]) -> None:
    inject(body, CERTIFICATE)
    assert body == wanted


def test_pods_follow_the_certificate_and_clients_its_authorities() -> None:
    other_key = ServingCertificate(digest="other", authorities="PEM")
    more_trust = ServingCertificate(digest="abc", authorities="PEM PEM")
    for kind, changes in (("Deployment", other_key), ("APIService", more_trust)):
        same = more_trust if changes is other_key else other_key
        assert injected_digest(kind, changes) != injected_digest(kind, CERTIFICATE)
        assert injected_digest(kind, same) == injected_digest(kind, CERTIFICATE)
