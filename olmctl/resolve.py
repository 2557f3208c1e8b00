"""`olm resolve PACKAGE...`: what would be installed, without a cluster."""

from __future__ import annotations

from pathlib import Path

import click
import orjson

from olmctl.authoring.directory_documents import read_directory_documents
from olmctl.commands import FAILED
from olmctl.offline_resolution import (
    BadInput,
    OfflineCatalogs,
    OfflineResult,
    PackageArgument,
    resolve_offline,
)
from olmctl.terminal import clean_lines
from olmctl.terminal_output import say, write_document
from olmkit.fbc.errors import BadCatalog
from olmkit.gocompat.versions import BadVersion, parse_tolerant_version, parse_version, version_hint


def resolve(
    packages: tuple[str, ...],
    catalogs: tuple[str, ...],
    installed: tuple[str, ...],
    excluded: tuple[str, ...],
    kube_version: str,
    output: str,
) -> int:
    """Print the bundles that are installed in the end if the packages are requested, with their dependencies."""
    try:
        _check_kube_version(kube_version)
        requests = [PackageArgument.parse(text) for text in packages]
        running = _installed(installed)
        result = resolve_offline(requests, _read_catalogs(catalogs), running, kube_version, _excluded(excluded))
    except (BadInput, BadCatalog) as error:
        raise click.UsageError(clean_lines(str(error))) from error
    if output == "json":
        write_document(_json(result))
    else:
        _print_text(result)
    return FAILED if result.error is not None else 0


def _check_kube_version(text: str) -> None:
    try:
        if text:
            parse_tolerant_version(text)
    except BadVersion as error:
        raise BadInput(f"--kube-version {text}: {error}") from error


def _installed(arguments: tuple[str, ...]) -> dict[str, str]:
    """The versions by package. Raises BadInput."""
    found: dict[str, str] = {}
    for text in arguments:
        package, version = _split(f"--installed {text}", text)
        if package in found:
            raise BadInput(f"--installed {text}: the package is given twice")
        found[package] = version
    return found


def _excluded(arguments: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The excluded versions by package. Raises BadInput."""
    found: dict[str, tuple[str, ...]] = {}
    for text in arguments:
        package, version = _split(f"--exclude {text}", text)
        try:
            parse_version(version)
        except BadVersion as error:
            raise BadInput(f"--exclude {text}: {error}{version_hint(version)}") from error
        found[package] = (*found.get(package, ()), version)
    return found


def _split(option: str, text: str) -> tuple[str, str]:
    package, _, version = text.partition("=")
    if not package or not version:
        raise BadInput(f"{option}: it is not of the form PACKAGE=VERSION")
    return package, version


def _read_catalogs(directories: tuple[str, ...]) -> OfflineCatalogs:
    """The catalogs, named as their directories; of several with one name the later ones as they are given."""
    found = {}
    for directory in directories:
        name = Path(directory).resolve().name
        try:
            found[directory if name in found else name] = read_directory_documents(Path(directory))
        except BadCatalog as error:
            raise BadInput(f"{directory}: {error}") from error
    return OfflineCatalogs(found)


def _json(result: OfflineResult) -> str:
    error = result.error and {"message": result.error.message, "clauses": list(result.error.clauses)}
    value = {"bundles": list(result.bundles), "error": error}
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n"


def _print_text(result: OfflineResult) -> None:
    if result.error is not None:
        say(clean_lines(result.error.message), err=True)
        for clause in result.error.clauses:
            say(clean_lines(f"  {clause.sentence}"), err=True)
    for bundle in result.bundles:
        say(clean_lines(f"{bundle.package} {bundle.version} ({bundle.bundle}, catalog {bundle.catalog})"))
        for sentence in bundle.because:
            say(clean_lines(f"  {sentence}"))
