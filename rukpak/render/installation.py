"""The objects that an installation applies: where a bundle is installed, and how it is rendered for a BundleDeployment.

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from rukpak.format import BadBundle, Bundle, PlainBundle, RegistryBundle
from rukpak.format.errors import INVALID_CONFIGURATION
from rukpak.render.cluster_info import ClusterInfo
from rukpak.render.endpoints import CRD, Endpoint, endpoints_of
from rukpak.render.install_options import InstallOptions
from rukpak.render.namespaces import default_namespace, install_namespace, namespace_error
from rukpak.render.preflight import Preflight, check
from rukpak.render.refusals import applicable
from rukpak.render.renderer import RenderOptions, render
from rukpak.render.scopes import Scopes


@dataclass(frozen=True)
class Installation:
    """A bundle that is rendered and checked for one BundleDeployment."""

    namespace: str
    warnings: tuple[str, ...]
    ready: Preflight
    endpoints: tuple[Endpoint, ...] = ()
    """Its Deployments that the API server calls."""

    @property
    def awaited_definitions(self) -> frozenset[str]:
        """The names of the CustomResourceDefinitions whose conversion webhook an upgrade waits for."""
        return frozenset(key.name for one in self.endpoints if one.is_awaited for key in one.clients if key[:2] == CRD)


def installation(
    content: Bundle, options: InstallOptions, deployment: str, cluster: ClusterInfo, scopes: Scopes
) -> Installation:
    """The bundle as the BundleDeployment of that name installs it. Raises BadBundle."""
    namespace, warnings = _namespace(content, options, deployment, cluster)
    wanted = RenderOptions(
        namespace,
        options.watch_namespaces or None,
        certificates=options.certificates,
        scopes=scopes,
        config=options.config,
    )
    manifests, notes = applicable(content, render(content, wanted))
    endpoints = (
        endpoints_of(content, namespace, options.certificates).values() if isinstance(content, RegistryBundle) else ()
    )
    return Installation(namespace, (*warnings, *notes), check(manifests, content, cluster), tuple(endpoints))


def _namespace(
    content: Bundle, options: InstallOptions, deployment: str, cluster: ClusterInfo
) -> tuple[str, tuple[str, ...]]:
    given = options.namespace
    if given and (problem := namespace_error(given, cluster.suite_namespaces)):
        text = f'nothing may be installed into namespace "{given}", which {problem}: name another install namespace'
        raise BadBundle(INVALID_CONFIGURATION, text)
    if given:
        return given, ()
    if isinstance(content, PlainBundle):
        return default_namespace(deployment), ()
    return install_namespace(content, cluster.suite_namespaces)
