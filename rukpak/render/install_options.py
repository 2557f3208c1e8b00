"""The options of one installation of a bundle: a value that the spec of a BundleDeployment is read into.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from olmkit.api.bundledeployments import BundleDeploymentSpec
from olmkit.api.meta import without_nulls
from rukpak.render.endpoints import CertificateMode


@dataclass(frozen=True)
class InstallOptions:
    """The fields of spec that rendering depends on. Hashable; equal options render equal objects."""

    namespace: str = ""
    """The install namespace; empty: what the bundle suggests."""
    watch_namespaces: tuple[str, ...] = ()
    """The namespaces to watch, sorted; ("",) is all; empty: what the bundle supports."""

    config_json: bytes = b"{}"
    """Changes of the Deployments, as JSON with sorted keys."""
    certificates: CertificateMode = CertificateMode.SELF
    """The issuer of the serving certificates."""

    @classmethod
    def of(cls, spec: BundleDeploymentSpec) -> InstallOptions:
        """The options of a BundleDeployment."""
        config = without_nulls(spec.config.dump()) if spec.config is not None else {}
        return cls(
            spec.install_namespace or "",
            tuple(sorted(set(spec.watch_namespaces or ()))),
            orjson.dumps(config, option=orjson.OPT_SORT_KEYS),
            CertificateMode(spec.certificates or CertificateMode.SELF),
        )

    @property
    def config(self) -> Mapping[str, Any]:
        """Changes of the Deployments, as the user has written them."""
        config: dict[str, Any] = orjson.loads(self.config_json)
        return config
