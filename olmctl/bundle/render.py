"""`olm bundle render DIRECTORY...`: print the objects that install bundles, without a cluster.

A directory with manifests/ and metadata/ is a registry+v1 bundle, one with manifests/ alone is a plain+v0 bundle. Of a bundle
that is refused, all errors are printed to standard error, and with `-o json` null to standard output; the other bundles are
printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import yaml

from olmctl.bundle.directory import read_directory
from olmctl.bundle.install_options import certificate_mode, config_of
from olmctl.commands import FAILED
from olmctl.directory_files import check_directory
from olmctl.terminal_output import say, write_document
from olmkit.api.names import is_dns1123_label
from olmkit.gocompat.yaml_dumper import TreeDumper
from olmkit.gocompat.yaml_scalars import is_plain_string
from rukpak.format import BadBundle, PlainBundle
from rukpak.format.errors import BUNDLE_LOAD_FAILED
from rukpak.format.objects import BundleObject
from rukpak.render.endpoints import CertificateMode
from rukpak.render.namespaces import default_namespace, install_namespace, namespace_error
from rukpak.render.preflight import obsolete
from rukpak.render.refusals import applicable
from rukpak.render.renderer import RenderOptions
from rukpak.render.renderer import render as render_objects

_REFUSED_BY_UPSTREAM = (
    "OLM v1 renders this bundle without its API services, and does not install it: "
    "unsupported bundle: apiServiceDefintions are not supported"
)
"""formats 2.3: its installer refuses what its renderer ignores."""
_FIELD = "watchNamespaces"
"""The field of BundleDeployments that messages of rukpak advise to set."""


@dataclass(frozen=True)
class _Flags:
    """The flags for the rendering of all bundles."""

    namespace: str | None
    watch_namespaces: tuple[str, ...] | None
    certificates: CertificateMode | None
    config: Mapping[str, Any]
    upstream: bool


def render(directories: tuple[str, ...], output: str, **given: Any) -> int:
    """Print the objects that install the bundle in each DIRECTORY."""
    for each in directories:
        check_directory(Path(each), "give the directory of a bundle")
    flags = _flags(**given)
    results = [
        _print(directory, flags, output, f"{directory}: " if len(directories) > 1 else "") for directory in directories
    ]
    return 0 if all(results) else FAILED


def _flags(
    namespace: str | None,
    watch_namespace: tuple[str, ...],
    config: str | None,
    certificates: str | None,
    *,
    upstream: bool,
) -> _Flags:
    mode, changes = certificate_mode(certificates), config_of(config) if config else {}
    return _Flags(namespace, watch_namespace or None, mode, changes, upstream)


def _print(directory: str, flags: _Flags, output: str, prefix: str) -> bool:
    """Print the objects of one bundle, or its errors after the prefix; returns whether it was rendered."""
    manifests: list[BundleObject] | None = None
    try:
        manifests, notes = _rendered(Path(directory), flags)
        errors: Sequence[str] = [f"note: {note}" for note in notes]
    except BadBundle as error:
        errors = [message.replace(_FIELD, f"{_FIELD} (--watch-namespace)") for message in error.errors]
    except OSError as error:
        errors = [f"{directory}: {error.strerror}"]
    for message in errors:
        say(message if message.startswith(directory) else prefix + message, err=True)
    if output == "json":
        write_document(_json(manifests))
    elif manifests is not None:
        write_document(_yaml(manifests))
    return manifests is not None


def _rendered(directory: Path, flags: _Flags) -> tuple[list[BundleObject], tuple[str, ...]]:
    """The objects, and notes: suggestions of the bundle that are not followed, that upstream refuses it, and items that a list
    has twice. Raises BadBundle."""
    bundle = read_directory(directory)
    notes: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    if isinstance(bundle, PlainBundle):
        suggested = default_namespace(directory.resolve().name)
    else:
        suggested, notes = install_namespace(bundle)
        refusals = (_REFUSED_BY_UPSTREAM,) if flags.upstream and bundle.owned_api_services else ()
    namespace = flags.namespace or suggested
    problem = namespace_error(namespace)
    if problem and not (flags.upstream and is_dns1123_label(namespace)):  # upstream installs into any namespace
        raise BadBundle(BUNDLE_LOAD_FAILED, f'namespace "{namespace}" {problem}')
    options = RenderOptions(namespace, flags.watch_namespaces, flags.upstream, flags.certificates, config=flags.config)
    manifests = render_objects(bundle, options)
    notes = refusals if flags.namespace else notes + refusals
    if flags.upstream:
        return manifests, notes
    manifests, repeated = applicable(bundle, manifests)
    if errors := obsolete(manifests):
        raise BadBundle.of(BUNDLE_LOAD_FAILED, errors)
    return manifests, notes + repeated


def _json(manifests: Sequence[BundleObject] | None) -> str:
    bodies = [manifest.body for manifest in manifests] if manifests is not None else None
    return orjson.dumps(bodies).decode() + "\n"


class _Dumper(TreeDumper):
    """Quotes every string that a reader of YAML 1.1 or 1.2 could read as another type."""

    def style(self, text: str) -> str | None:
        return None if is_plain_string(text) else "'"


def _yaml(manifests: Sequence[BundleObject]) -> str:
    bodies = [dict(manifest.body) for manifest in manifests]
    return yaml.dump_all(bodies, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120, explicit_start=True)
