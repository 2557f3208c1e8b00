"""Writes what clients and pods need of a serving certificate into the bodies of objects.

What is written is no part of the rendered objects, and of their digests only through `injected_digest`. Pure.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from olmkit.api.bundledeployments import CERTIFICATE_ANNOTATION
from rukpak.certificates.serving_certificate import ServingCertificate

WORKLOAD = "Deployment"


def injected_digest(kind: str, certificate: ServingCertificate) -> str:
    """A digest of what is written into an object of this kind."""
    content = certificate.digest if kind == WORKLOAD else certificate.authorities
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def inject(body: dict[str, Any], certificate: ServingCertificate) -> None:
    """Change a body in place: caBundle of a client, or the annotation of the pods of a Deployment."""
    authorities = base64.b64encode(certificate.authorities.encode()).decode()
    match body["kind"]:
        case kind if kind == WORKLOAD:
            metadata = body["spec"]["template"].setdefault("metadata", {})
            metadata["annotations"] = {
                **(metadata.get("annotations") or {}),
                CERTIFICATE_ANNOTATION: certificate.digest,
            }
        case "CustomResourceDefinition":
            body["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = authorities
        case "APIService":
            body["spec"]["caBundle"] = authorities
        case _:
            for webhook in body["webhooks"]:
                webhook["clientConfig"]["caBundle"] = authorities
