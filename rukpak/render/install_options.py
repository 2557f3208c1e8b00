"""How a bundle is rendered for one installation: a value that the spec of a BundleDeployment is read into.

Made by rukpak.bundledeployment.reconciler, part of the key of the render cache and of each rendered bundle. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from olmkit.api.bundledeployments import BundleDeploymentSpec


@dataclass(frozen=True)
class InstallOptions:
    """The fields of spec that rendering depends on. Hashable; equal options render equal objects."""

    namespace: str = ""
    """The install namespace; empty: what the bundle suggests."""
    watch_namespaces: tuple[str, ...] = ()
    """The namespaces to watch, sorted; ("",) is all; empty: what the bundle supports."""

    @classmethod
    def of(cls, spec: BundleDeploymentSpec) -> InstallOptions:
        """The options of a BundleDeployment."""
        return cls(spec.install_namespace or "", tuple(sorted(set(spec.watch_namespaces or ()))))
