"""A bundle with a conversion webhook on nodes that are simulated: all that can be shown without a process behind the Service."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from devcluster.images import Content
from tests.e2e.stage import Stage

PACKAGE = "argocd-operator"
CRD = "argocds.argoproj.io"


def _get(stage: Stage, *what: str) -> Any:
    return json.loads(stage.cluster.kubectl("get", *what, "-o", "json"))


@pytest.mark.corpus
@pytest.mark.timeout(600)
def test_argocd_operator_is_installed_with_its_conversion_webhook_and_removed(stage: Stage, corpus: Path) -> None:
    content = Content(corpus / "catalog", corpus / "bundles")
    stage.ready_catalog(stage.publish(content, [PACKAGE]).reference)
    stage.operator(PACKAGE, PACKAGE)
    stage.operator_when(
        PACKAGE,
        "is Ready",
        lambda found: any(
            each["type"] == "Ready" and each["status"] == "True" for each in found["status"].get("conditions", ())
        ),
        240,
    )
    deployed = _get(stage, "bundledeployment", PACKAGE)
    namespace = deployed["status"]["installNamespace"]
    conversion = _get(stage, "crd", CRD)["spec"]["conversion"]
    service = conversion["webhook"]["clientConfig"]["service"]
    secret = _get(stage, "secret", f"{service['name']}-cert", "--namespace", namespace)
    assert conversion["webhook"]["clientConfig"]["caBundle"] == secret["data"]["ca.crt"]
    certificate = x509.load_pem_x509_certificate(base64.b64decode(secret["data"]["tls.crt"]))
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert f"{service['name']}.{namespace}.svc" in names.get_values_for_type(x509.DNSName)
    (workload,) = [
        each
        for each in _get(stage, "deployments", "--namespace", namespace)["items"]
        if each["metadata"]["labels"]["core.rukpak.io/owner-uid"] == deployed["metadata"]["uid"]
    ]
    template = workload["spec"]["template"]
    digest = "core.rukpak.io/certificate-digest"
    assert template["metadata"]["annotations"][digest] == secret["metadata"]["annotations"][digest]
    mounted = {each["secret"]["secretName"] for each in template["spec"]["volumes"] if "secret" in each}
    assert secret["metadata"]["name"] in mounted
    assert _get(stage, "service", service["name"], "--namespace", namespace)["spec"]["selector"]
    stage.delete("Operator", PACKAGE)
    assert not stage.exists("crd", CRD)
    assert not stage.exists("secret", secret["metadata"]["name"], "--namespace", namespace)
