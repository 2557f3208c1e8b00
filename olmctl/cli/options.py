"""The types of arguments and the options that several commands have.

Imports nothing that is slow to import: a command's options are declared whenever `olm` starts.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from olmctl.terminal import clean
from olmkit.api.names import dns1123_subdomain_errors
from olmkit.gocompat.text import quoted

ADOPTION_POLICIES = ("Never", "IfUnowned")
"""The values of --adoption-policy: olmkit.api.install_settings.AdoptionPolicy."""
NAMESPACE_POLICIES = ("Create", "MustExist")
"""The values of --namespace-policy: olmkit.api.install_settings.NamespacePolicy."""
INSTALL_MODE_POLICIES = ("Lenient", "Strict")
"""The values of --install-mode-policy: olmkit.api.install_settings.InstallModePolicy."""
ROLLBACK_POLICIES = ("Never", "OnFailure")
"""The values of --rollback: olmkit.api.install_settings.RollbackPolicy."""
CRD_POLICIES = ("IfUsed", "Enforce", "None")
"""The values of --crd-policy: olmkit.api.crd_upgrade_safety.CrdUpgradeSafety."""
DEFAULT_TIMEOUT_SECONDS = 300.0
DOCUMENT_FORMATS = ("json", "yaml")
"""The formats of blobs: olmctl.authoring.serialize.Format."""
GRAPH_FORMATS = ("mermaid", "text")
"""The formats of a graph: for Mermaid, or for people."""
KEPT = "that of the installation"
"""The default of an option that changes a setting, and leaves it as it is without a value."""

Command = TypeVar("Command", bound=Callable[..., Any])


class Directory(click.Path):
    """A path that completes to directories. Whether it exists is left to the command, which reports it in opm's words."""

    def __init__(self) -> None:
        """The value is a str, exactly as it was given."""
        super().__init__(readable=False)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Directories below the incomplete path, which the shell lists."""
        return [CompletionItem(incomplete, type="dir")]


class ObjectName(click.ParamType[str]):
    """The name of an object of Kubernetes. Any other text is wrong usage: it could lead to another path of the API server."""

    name = "name"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as it is. Raises BadParameter."""
        if errors := dns1123_subdomain_errors(value):
            self.fail(f"{clean(value)!r} is no name of an object: {'; '.join(errors)}", param, ctx)
        return value


class Pair(click.ParamType[tuple[str, str]]):
    """`key=value`, as operator-sdk takes it."""

    name = "key=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """The key and the value. Raises BadParameter."""
        if isinstance(value, tuple):
            return value
        key, equals, rest = str(value).partition("=")
        if not equals or not key:
            self.fail(f"{value!r} must be formatted as key=value", param, ctx)
        return key, rest


def file_path() -> click.Path:
    """The type of a path to a file that the command itself opens."""
    return click.Path(readable=False, path_type=Path)


class _FormType(click.ParamType[str]):
    """json or yaml; another value is refused in opm's words."""

    name = "json|yaml"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        for form in DOCUMENT_FORMATS:
            if value == form:
                return form
        raise click.BadParameter(f"invalid --output value {quoted(value)}, expected (json|yaml)", ctx, param)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(form) for form in DOCUMENT_FORMATS if form.startswith(incomplete)]


def documents_option(command: Command) -> Command:
    """Add the option -o, also --output: the format of the documents, JSON by default."""
    option = click.option(
        "-o", "--output", type=_FormType(), metavar="json|yaml", default="json", help="Output format.  [default: json]"
    )
    return option(command)


def output_option(*forms: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add -o, also --output, with these formats; without it a command prints text."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        return click.option("-o", "--output", type=click.Choice(forms), help="Output format.  [default: text]")(command)

    return decorate


def no_headers_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --no-headers."""
    return click.option("--no-headers", is_flag=True, help="Print no headers.")(command)


def adoption_policy_option(default: str = "Never") -> Callable[[Command], Command]:
    """Add --adoption-policy."""
    text = "Whether objects that exist already, and that nobody manages, are taken over with their data."
    return click.option("--adoption-policy", type=click.Choice(ADOPTION_POLICIES), help=f"{text}  [default: {default}]")


def rollback_options(
    default: str = "Never", deadline: str = "that of each kind, 10m for most"
) -> Callable[[Command], Command]:
    """Add --rollback and --progress-deadline, whose value is a Go duration."""
    text = "Whether the version before runs again when an upgrade is rejected or not healthy in time."
    choice = click.Choice(ROLLBACK_POLICIES)
    time = "The time in which a version has to become healthy, such as 2m."
    rollback = click.option("--rollback", type=choice, help=f"{text}  [default: {default}]")
    progress = click.option(
        "--progress-deadline", type=_GoDuration(), metavar="DURATION", help=f"{time}  [default: {deadline}]"
    )
    return lambda command: rollback(progress(command))


def upgrade_constraint_policy_option(default: str = "Enforce") -> Callable[[Command], Command]:
    """Add --upgrade-constraint-policy."""
    text = "Whether upgrades follow the edges of the catalog; with Ignore they may also lead to an older version."
    choice = click.Choice(("Enforce", "Ignore"))
    return click.option("--upgrade-constraint-policy", type=choice, help=f"{text}  [default: {default}]")


def crd_upgrade_options(default: str = "IfUsed") -> Callable[[Command], Command]:
    """Add --crd-policy, and --ignore-crd-rule as `crd_rules`."""
    rules = click.option(
        "--ignore-crd-rule",
        "crd_rules",
        metavar="RULE",
        multiple=True,
        help="A rule about CustomResourceDefinitions that refuses nothing; '' for none. May be repeated: replaces those set "
        "before.",
    )
    policy = click.option(
        "--crd-policy",
        type=click.Choice(CRD_POLICIES),
        help=f"What refuses an upgrade that changes CustomResourceDefinitions.  [default: {default}]",
    )
    return lambda command: policy(rules(command))


_CONNECTION_OPTIONS: tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...] = (
    click.option("--kubeconfig", type=file_path(), metavar="FILE", help="The kubeconfig.  [default: as kubectl]"),
    click.option("--context", metavar="NAME", help="The context of the kubeconfig.  [default: its current one]"),
    click.option("--as", "impersonate", metavar="USER", help="The user to impersonate."),
    click.option(
        "--system-namespace",
        type=ObjectName(),
        metavar="NAMESPACE",
        help="The namespace of the suite.  [default: the one it is in]",
    ),
)


def connection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of olmctl.operators.session.on_cluster: --kubeconfig, --context, --as and --system-namespace."""
    for option in reversed(_CONNECTION_OPTIONS):
        command = option(command)
    return command


def timeout_option(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add --timeout with this help; the parameter `seconds`, which is DEFAULT_TIMEOUT_SECONDS without it."""
    return click.option(
        "--timeout",
        "seconds",
        type=Duration(),
        default=f"{DEFAULT_TIMEOUT_SECONDS:.0f}s",
        metavar="DURATION",
        help=text,
    )


def wait_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --wait and --timeout, in seconds."""
    command = timeout_option("How long --wait waits, such as 90s or 10m.  [default: 5m]")(command)
    return click.option("--wait", is_flag=True, help="Wait for the outcome, with a line of progress.")(command)


class Duration(click.ParamType[float]):
    """A duration as kubectl takes it: 90s, 5m, 1h30m, or a number of seconds. The value is in seconds."""

    name = "duration"
    _units = (("h", 3600.0), ("m", 60.0), ("s", 1.0))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds. Raises BadParameter."""
        if isinstance(value, float):
            return value
        rest, seconds = str(value).strip(), 0.0
        if rest.isdecimal():
            rest += "s"
        try:
            for unit, factor in self._units:
                number, separator, after = rest.partition(unit)
                if separator:
                    seconds, rest = seconds + float(number) * factor, after
        except ValueError:
            rest = "?"
        if rest or not seconds > 0:
            self.fail(f"{value!r} is no duration such as 90s, 5m or 1h30m", param, ctx)
        return seconds


class _GoDuration(click.ParamType[str]):
    """A duration as kubectl takes it. The value is a Go duration of whole seconds, such as 90s."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The Go duration. Raises BadParameter."""
        return f"{max(1, round(Duration().convert(value, param, ctx)))}s"


_IMAGE_OPTIONS: tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...] = (
    click.option(
        "--registries-conf",
        metavar="FILE",
        type=file_path(),
        envvar="CONTAINERS_REGISTRIES_CONF",
        help="Locations and mirrors of registries: containers-registries.conf(5).  [env: CONTAINERS_REGISTRIES_CONF]",
    ),
    click.option(
        "--pull-cas-dir",
        metavar="DIR",
        type=file_path(),
        help="A directory of PEM files of certificate authorities to trust in addition to the system's.",
    ),
    click.option(
        "--allow-source-cidr",
        metavar="CIDR",
        multiple=True,
        envvar="OLM_ALLOW_SOURCE_CIDR",
        help="A range of loopback or link-local addresses that registries may have. May be repeated.  "
        "[env: OLM_ALLOW_SOURCE_CIDR, separated by spaces]",
    ),
)


def image_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --registries-conf, --pull-cas-dir and --allow-source-cidr: arguments of olmctl.catalog.images.unpacked."""
    for option in reversed(_IMAGE_OPTIONS):
        command = option(command)
    return command


_IMAGE_OUTPUT_OPTIONS: tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...] = (
    click.option(
        "-o",
        "--output",
        metavar="PATH",
        type=file_path(),
        help="The file, if PATH ends with .tar, else the directory of an OCI layout.  [default: a .tar named as what is built]",
    ),
    click.option(
        "-t", "--tag", "tags", metavar="IMAGE", multiple=True, help="A name of the image in it. May be repeated."
    ),
)


def image_output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --output and --tag: arguments of olmctl.authoring.images.delivery.write_image."""
    for option in reversed(_IMAGE_OUTPUT_OPTIONS):
        command = option(command)
    return command
