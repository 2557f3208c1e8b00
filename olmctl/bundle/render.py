"""`python -m rukpak.render FOLDER`: what a bundle's folder becomes, without a cluster. For people, and for comparing with others.

A folder with manifests/ and metadata/ is a registry+v1 bundle, one with manifests/ alone a plain+v0 one. What is wrong goes to
stderr with exit status 1; nothing is printed then.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import orjson
import yaml

from olmkit.gocompat.yaml_dumper import TreeDumper
from rukpak.format import BadBundle, Bundle, PlainBundle, read_plain, read_registry
from rukpak.format.documents import plain
from rukpak.format.objects import Manifest
from rukpak.render.namespaces import install_namespace, namespace_for, why_not
from rukpak.render.preflight import unsupported
from rukpak.render.renderer import RenderOptions, render


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit status."""
    flags = _parser().parse_args(argv)
    try:
        manifests = _rendered(flags)
    except BadBundle as error:
        for fault in error.errors:
            print(fault, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{flags.folder}: {error.strerror}", file=sys.stderr)
        return 1
    sys.stdout.write(_json(manifests) if flags.output == "json" else _yaml(manifests))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m rukpak.render", description="Print the objects that a bundle becomes."
    )
    parser.add_argument(
        "folder", type=Path, help="the bundle: a folder with manifests/ and, for registry+v1, metadata/"
    )
    parser.add_argument("--namespace", help="install namespace (default: what the bundle suggests)")
    parser.add_argument(
        "--watch-namespace",
        action="append",
        metavar="NS",
        help='a namespace to watch, may be given again; "" for all (default: what the bundle supports)',
    )
    parser.add_argument("--upstream", action="store_true", help="print exactly what upstream's renderer would")
    parser.add_argument("-o", "--output", choices=("yaml", "json"), default="yaml")
    return parser


def _rendered(flags: argparse.Namespace) -> list[Manifest]:
    bundle = _read(flags.folder)
    notes: tuple[str, ...] = ()
    if isinstance(bundle, PlainBundle):
        suggested = namespace_for(flags.folder.resolve().name)
    else:
        suggested, notes = install_namespace(bundle)
        if not flags.upstream and (faults := unsupported(bundle)):
            raise BadBundle.of("BundleLoadFailed", faults)
    namespace = flags.namespace or suggested
    if problem := why_not(namespace):
        raise BadBundle("BundleLoadFailed", f'namespace "{namespace}" {problem}')
    for note in () if flags.namespace else notes:
        print(f"note: {note}", file=sys.stderr)
    targets = tuple(flags.watch_namespace) if flags.watch_namespace is not None else None
    return render(bundle, RenderOptions(namespace, targets, flags.upstream))


def _read(folder: Path) -> Bundle:
    if not folder.is_dir():
        raise BadBundle("UnpackFailed", f"{folder}: no such folder")
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for part in ("manifests", "metadata")
        for path in sorted((folder / part).rglob("*"))
        if path.is_file()
    }
    if not any(name.startswith("manifests/") for name in files):
        text = f'{folder} has no "manifests" folder with files in it: give the folder of one version of one bundle'
        raise BadBundle("UnpackFailed", text)
    return read_registry(files) if (folder / "metadata").is_dir() else read_plain(files)


def _json(manifests: Sequence[Manifest]) -> str:
    return orjson.dumps([manifest.body for manifest in manifests], option=orjson.OPT_INDENT_2).decode() + "\n"


class _Dumper(TreeDumper):
    """Quotes what any reader of YAML 1.1 or 1.2 might take for something else than text."""

    def style(self, text: str) -> str | None:
        return None if isinstance(plain(text), str) else "'"


def _yaml(manifests: Sequence[Manifest]) -> str:
    bodies = [dict(manifest.body) for manifest in manifests]
    return yaml.dump_all(bodies, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120, explicit_start=True)


if __name__ == "__main__":
    sys.exit(main())
