"""Secret objects as the API server returns them, for tests of credentials."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any


def secret(
    kind: str, values: Mapping[str, str | bytes], hosts: str = "", name: str = "login", *, insecure: str = ""
) -> dict[str, Any]:
    """A Secret of a type in olm-suite-system; `hosts` and `insecure` are its annotations."""
    annotations = {"olm.operatorframework.io/source-hosts": hosts} if hosts else {}
    if insecure:
        annotations["olm.operatorframework.io/insecure-source-hosts"] = insecure
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": "olm-suite-system", "annotations": annotations},
        "type": kind,
        "data": {
            key: base64.b64encode(value.encode() if isinstance(value, str) else value).decode()
            for key, value in values.items()
        },
    }


def docker_config(auths: Mapping[str, Mapping[str, str]], name: str = "login") -> dict[str, Any]:
    """A pull secret: entries by registry."""
    text = json.dumps({"auths": auths})
    return secret("kubernetes.io/dockerconfigjson", {".dockerconfigjson": text}, name=name)


def auth(user: str, password: str) -> dict[str, str]:
    """An entry as `docker login` writes it."""
    return {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}
