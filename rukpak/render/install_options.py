"""The options of one installation of a bundle: a value that the spec of a BundleDeployment is read into.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from olmkit.api.install_policies import MUST_EXIST, STRICT
from rukpak.render.endpoints import CertificateMode

if TYPE_CHECKING:
    from olmkit.api.bundledeployments import BundleDeploymentSpec, ValuesFrom

MAX_CONFIG_BYTES = 256 * 1024
"""Bytes of a config as JSON: the object that has it records in its status how revisions were installed, and may have 1.5 MiB."""
CHART_FIELDS = frozenset({"values", "valuesFrom"})
"""The fields of config that are for Helm charts."""


@dataclass(frozen=True)
class InstallOptions:
    """The fields of spec that rendering depends on. Hashable; equal options render equal objects."""

    namespace: str = ""
    """The install namespace; empty: what the bundle suggests."""
    watch_namespaces: tuple[str, ...] = ()
    """The namespaces to watch, sorted; ("",) is all; empty: what the bundle supports."""

    config_json: bytes = b"{}"
    """Changes of the Deployments, or the values of a chart, as JSON with sorted keys."""
    certificates: CertificateMode = CertificateMode.SELF
    """The issuer of the serving certificates."""
    must_exist: bool = False
    """True if the install namespace is somebody else's: it is required, and not changed."""
    is_strict: bool = False
    """True if the install namespace is not watched by default."""
    operator_condition: bool = False
    """True if a registry+v1 bundle gets an OperatorCondition. Not a field of spec: a revision records it when it begins."""

    @classmethod
    def of(cls, spec: BundleDeploymentSpec) -> InstallOptions:
        """The options of a BundleDeployment."""
        from olmkit.api.bundledeployments import (
            with_values,  # models of the API, which commands without a cluster do not have
        )
        from olmkit.api.meta import without_nulls

        given = spec.config.dump() if spec.config is not None else {}
        config = with_values(without_nulls(given), given)
        return cls(
            spec.install_namespace or "",
            tuple(sorted(set(spec.watch_namespaces or ()))),
            orjson.dumps(config, option=orjson.OPT_SORT_KEYS),
            CertificateMode(spec.certificates or CertificateMode.SELF),
            must_exist=spec.namespace_policy == MUST_EXIST,
            is_strict=spec.install_mode_policy == STRICT,
        )

    @property
    def config(self) -> Mapping[str, Any]:
        """Changes of the Deployments, or the values of a chart, as the user has written them."""
        config: dict[str, Any] = orjson.loads(self.config_json)
        return config

    @property
    def values(self) -> Any:
        """The values of a chart: an object, a string of YAML, or None."""
        return self.config.get("values")

    @property
    def values_from(self) -> tuple[ValuesFrom, ...]:
        """The Secrets and ConfigMaps with values of a chart, in order."""
        from olmkit.api.bundledeployments import ValuesFrom

        return tuple(map(ValuesFrom.load, self.config.get("valuesFrom") or ()))


def chart_options_problem(options: InstallOptions) -> str:
    """Explain what is wrong with the options of a Helm chart; empty if nothing is."""
    if options.watch_namespaces:
        return "a Helm chart has no install modes: leave watchNamespaces out"
    if others := sorted(options.config.keys() - CHART_FIELDS):
        return f"config.{others[0]} changes the Deployments of a registry+v1 bundle: use config.values for a Helm chart"
    if len(options.config_json) > MAX_CONFIG_BYTES:
        size = f"{len(options.config_json):,} bytes as JSON, at most {MAX_CONFIG_BYTES:,} are allowed"
        return f"config has {size}: put more values into ConfigMaps, and name them in config.valuesFrom"
    if not isinstance(options.values, dict | str | None):
        return "config.values has to be an object, or a string of YAML"
    return ""
