"""Reads the options that say how a bundle is installed: files and texts of the command line as fields of a BundleDeployment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from olmctl.commands import FAILED, REFUSED, WRONG_USAGE, CommandError
from olmctl.operators.field_options import requested_safety
from olmctl.questions.left_installations import OPTIONS
from olmctl.questions.operator_state import part
from olmkit.api.impersonation import Account
from olmkit.api.meta import Object
from olmkit.api.names import dns1123_subdomain_errors, is_dns1123_label
from olmkit.gocompat import documents
from olmkit.gocompat.parse_errors import ParseError
from olmkit.gocompat.text import quoted
from rukpak.format import RegistryBundle
from rukpak.render.endpoints import CertificateMode
from rukpak.render.install_modes import ALL, MODES, MULTI, OWN, SINGLE

_COUNTS = {ALL: "no target namespace", OWN: "no target namespace", SINGLE: "exactly one target namespace"}
"""Mode -> the number of namespaces that follow it; MULTI takes one or more."""

_EXPLAINED = {
    "adoptionPolicy": ", which sets adoptionPolicy",
    "crdUpgradeSafety.ignoredRules": " for each of the rules, which sets crdUpgradeSafety.ignoredRules",
}


def config_of(file: str) -> Mapping[str, Any]:
    """The mapping in a file: changes of the Deployments. Raises CommandError, OSError."""
    if not Path(file).is_file():
        raise CommandError(WRONG_USAGE, f"--config {file}: there is no such file")
    try:
        found = documents.read(Path(file).read_bytes())
    except ParseError as error:
        raise CommandError(FAILED, f"{file}: {error}") from None
    if len(found) != 1 or not isinstance(found[0], dict):
        raise CommandError(FAILED, f"{file}: must be one mapping, such as `env: [{{name: A, value: b}}]`")
    config: dict[str, Any] = found[0]
    return config


def certificate_mode(text: str | None) -> CertificateMode | None:
    """The mode of --certificates; None without the option."""
    return CertificateMode[text.upper().replace("-", "_")] if text else None


def account_of(text: str, namespace: str | None) -> Account:
    """The account of NAMESPACE/NAME, or of NAME in the install namespace. Raises UsageError."""
    inside, _, name = text.rpartition("/")
    inside = inside or namespace or ""
    if not inside or dns1123_subdomain_errors(name):
        raise click.UsageError("--service-account must be NAMESPACE/NAME, or NAME together with --namespace")
    return Account(inside, name)


def install_mode_of(text: str) -> tuple[str, tuple[str, ...]]:
    """The install mode and its namespaces in MODE[=NS,NS]. Raises ValueError."""
    mode, _, rest = text.partition("=")
    namespaces = tuple(dict.fromkeys(filter(None, map(str.strip, rest.split(",")))))
    if mode not in MODES:
        raise ValueError(f"unknown install mode type {quoted(mode)}: it is one of {', '.join(MODES)}")
    if invalid := [each for each in namespaces if not is_dns1123_label(each)]:
        raise ValueError(f"{quoted(invalid[0])} is no name of a namespace")
    count, wanted = len(namespaces), {SINGLE: 1}.get(mode, 0)
    if mode == MULTI and not count:
        raise ValueError(f"install mode {quoted(mode)} must have at least one target namespace")
    if mode != MULTI and count != wanted:
        raise ValueError(f"install mode {quoted(mode)} must have {_COUNTS[mode]}")
    return mode, namespaces


def check_mode(mode: str, bundle: RegistryBundle) -> None:
    """Raises CommandError if the bundle does not support the install mode."""
    if mode not in bundle.install_modes:
        text = f"install mode type {quoted(mode)} not supported in CSV {quoted(bundle.csv_name)}"
        supported = ", ".join(bundle.install_modes) or "none"
        raise CommandError(REFUSED, f"{text}: it supports {supported}")


def watched_namespaces(mode: str, namespaces: tuple[str, ...], install_namespace: str) -> list[str]:
    """spec.watchNamespaces for an install mode."""
    return {ALL: [""], OWN: [install_namespace]}.get(mode) or list(namespaces)


def safety_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of spec that --adoption-policy, --crd-policy, --ignore-crd-rule, --rollback and --progress-deadline set. Raises
    UsageError."""
    safety = requested_safety(options["crd_policy"], options["crd_rules"])
    asked = {
        "adoptionPolicy": options["adoption_policy"],
        "crdUpgradeSafety": safety,
        "rollback": options["rollback"],
        "progressDeadline": options["progress_deadline"],
    }
    return {key: value for key, value in asked.items() if value}


def options_for(found: Object | None) -> list[str]:
    """Sentences with the options that permit what is refused of a BundleDeployment."""
    fields = part(found or {}, "status", "permittedBy") or ()
    named = [f"{OPTIONS[each]}{_EXPLAINED[each]}" for each in fields if each in OPTIONS]
    return [f"if you want that, run the command again with {each}" for each in named]
