"""`olm bundle render FOLDER`: print the objects that install a bundle, without a cluster. Also run by `python -m rukpak.render`.

A folder with manifests/ and metadata/ is a registry+v1 bundle, one with manifests/ alone is a plain+v0 bundle. When a
bundle is invalid, all errors are printed to standard error and nothing to standard output.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
import orjson
import yaml

from olmctl.commands import SETTINGS, Directory, fail, reports_errors
from olmkit.gocompat.yaml_dumper import TreeDumper
from olmkit.gocompat.yaml_scalars import is_plain_string
from rukpak.format import BadBundle, Bundle, PlainBundle, read_plain, read_registry
from rukpak.format.errors import BUNDLE_LOAD_FAILED, UNPACK_FAILED
from rukpak.format.objects import BundleObject
from rukpak.render.endpoints import CertificateMode
from rukpak.render.namespaces import default_namespace, install_namespace, namespace_error
from rukpak.render.renderer import RenderOptions
from rukpak.render.renderer import render as render_objects


@click.command("render", context_settings=SETTINGS)
@click.argument("folder", type=Directory())
@click.option("--namespace", help="The install namespace.  [default: the one that the bundle suggests]")
@click.option(
    "--watch-namespace",
    metavar="NS",
    multiple=True,
    help='A namespace to watch; "" for all namespaces. May be repeated.  [default: what the bundle supports]',
)
@click.option(
    "--certificates",
    type=click.Choice([mode.name.lower().replace("_", "-") for mode in CertificateMode]),
    help="Who issues the certificates of webhooks and API services: olm-suite when the bundle is installed, cert-manager, or "
    "nobody because the bundle brings its own.  [default: self; with --upstream cert-manager]",
)
@click.option("--upstream", is_flag=True, help="Print exactly the objects that the renderer of OLM v1 generates.")
@click.option(
    "-o", "--output", type=click.Choice(("yaml", "json")), default="yaml", help="Output format.  [default: yaml]"
)
@reports_errors
def render(
    folder: str,
    namespace: str | None,
    watch_namespace: tuple[str, ...],
    certificates: str | None,
    upstream: bool,
    output: str,
) -> int:
    """Print the objects that install the bundle in FOLDER.

    FOLDER contains manifests/ and, for a registry+v1 bundle, metadata/. The exit status is 0 when the bundle can be
    rendered. Otherwise it is 1, and the errors are printed to standard error.
    """
    try:
        mode = CertificateMode[certificates.upper().replace("-", "_")] if certificates else None
        manifests = _rendered(Path(folder), namespace, watch_namespace or None, upstream, mode)
    except BadBundle as error:
        for message in error.errors:
            print(message, file=sys.stderr)
        return 1
    except OSError as error:
        return fail(f"{folder}: {error.strerror}")
    sys.stdout.write(_json(manifests) if output == "json" else _yaml(manifests))
    return 0


def _rendered(
    folder: Path,
    given_namespace: str | None,
    watch_namespaces: tuple[str, ...] | None,
    upstream: bool,
    certificates: CertificateMode | None,
) -> list[BundleObject]:
    bundle = _read(folder)
    notes: tuple[str, ...] = ()
    if isinstance(bundle, PlainBundle):
        suggested = default_namespace(folder.resolve().name)
    else:
        suggested, notes = install_namespace(bundle)
    namespace = given_namespace or suggested
    if problem := namespace_error(namespace):
        raise BadBundle(BUNDLE_LOAD_FAILED, f'namespace "{namespace}" {problem}')
    for note in () if given_namespace else notes:
        print(f"note: {note}", file=sys.stderr)
    return render_objects(bundle, RenderOptions(namespace, watch_namespaces, upstream, certificates))


def _read(folder: Path) -> Bundle:
    if not folder.is_dir():
        raise BadBundle(UNPACK_FAILED, f"{folder}: no such folder")
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for part in ("manifests", "metadata")
        for path in sorted((folder / part).rglob("*"))
        if path.is_file()
    }
    if not any(name.startswith("manifests/") for name in files):
        text = f'{folder} has no "manifests" folder with files in it: give the folder of one version of one bundle'
        raise BadBundle(UNPACK_FAILED, text)
    return read_registry(files) if (folder / "metadata").is_dir() else read_plain(files)


def _json(manifests: Sequence[BundleObject]) -> str:
    return orjson.dumps([manifest.body for manifest in manifests], option=orjson.OPT_INDENT_2).decode() + "\n"


class _Dumper(TreeDumper):
    """Quotes every string that a reader of YAML 1.1 or 1.2 could read as another type."""

    def style(self, text: str) -> str | None:
        return None if is_plain_string(text) else "'"


def _yaml(manifests: Sequence[BundleObject]) -> str:
    bodies = [dict(manifest.body) for manifest in manifests]
    return yaml.dump_all(bodies, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120, explicit_start=True)
