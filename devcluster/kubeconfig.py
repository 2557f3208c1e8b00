"""Renders kubeconfig files for the components, the admin and ServiceAccounts. Pure."""

import base64

import yaml


def render(server: str, authority: bytes | None, token: str, user: str) -> str:
    """A kubeconfig with one context. `authority` is the PEM of the CA, or None to use the system's CAs."""
    cluster = {"server": server}
    if authority is not None:
        cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": user,
        "clusters": [{"name": "devcluster", "cluster": cluster}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": user, "context": {"cluster": "devcluster", "user": user}}],
    }
    return yaml.safe_dump(config, sort_keys=False)
