"""The flags that all components have, and their values.

Imports little, so that it stays fast. Only parses.
"""

from __future__ import annotations

import argparse
import re
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

DISTRIBUTION = "olm-suite"
"""The name under which the suite is installed. Its version stands in pyproject.toml alone."""


@dataclass(frozen=True)
class Settings:
    """The values of the flags. Addresses are `host:port`, `:port` for all addresses, or "0" for none."""

    cache_dir: Path
    kubeconfig: str | None = None
    system_namespace: str = "olm-suite-system"
    keys_namespace: str = "olm-suite-keys"
    metrics_bind_address: str = "127.0.0.1:8080"
    health_probe_bind_address: str = ":8081"
    leader_elect: bool = True
    registries_conf: Path | None = None
    pull_cas_dir: Path | None = None
    allow_source_cidr: tuple[str, ...] = ()
    log_level: str = "info"
    jobs_memory: int | None = None
    """Bytes of memory for all jobs together; None: what the limit of the container leaves. Only for components with jobs."""
    pull_secret: str = ""
    """The Secret of the system namespace with logins for all objects with a source. Only for components that fetch sources."""
    webhook_bind_address: str = "0"
    """The address on which admission webhooks are served. Only for components with webhooks."""
    replica_address: str = ""
    """The address at which other replicas reach this one; "" if the serving address is that. Only for components of which one
    replica asks another."""
    helm: Path | None = None
    """The program helm. Only for components that render charts."""
    require_service_account: bool = False
    """True if nothing is installed without a ServiceAccount that the spec names. Only for rukpak."""
    extra: argparse.Namespace = field(default_factory=argparse.Namespace)
    """All flags as parsed, with those of the component."""


class _HelpFormatter(argparse.ArgumentDefaultsHelpFormatter):
    """Appends the default of a flag to its help, unless the default is to leave the value out."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return action.help if action.default in (None, "", []) else super()._get_help_string(action)


class _VersionAction(argparse.Action):
    """`--version`: prints the name of the program and the version of the suite, and ends the process."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="print the version and exit")

    def __call__(self, parser: ArgumentParser, *_: object, **__: object) -> None:
        from importlib.metadata import version  # slow to import, and only used here

        print(f"{parser.prog} {version(DISTRIBUTION)}")
        parser.exit()


class _Parser(ArgumentParser):
    """A parser with `--version`."""

    def __init__(self, prog: str, formatter_class: type[argparse.HelpFormatter]) -> None:
        super().__init__(prog=prog, formatter_class=formatter_class)
        self.add_argument("--version", action=_VersionAction)


def make_parser(name: str) -> ArgumentParser:
    """The flags that all components have."""
    parser = _Parser(prog=name, formatter_class=_HelpFormatter)
    add = parser.add_argument
    add("--kubeconfig", help="kubeconfig file; without it $KUBECONFIG, the pod's account or ~/.kube/config")
    add(
        "--system-namespace",
        default=Settings.system_namespace,
        help="namespace of the leases, and of the Secrets and ConfigMaps that sources name",
    )
    add(
        "--keys-namespace",
        default=Settings.keys_namespace,
        help="namespace of the suite's own keys, which are read by name",
    )
    add("--metrics-bind-address", default=Settings.metrics_bind_address, help="host:port of /metrics; 0 disables it")
    add(
        "--health-probe-bind-address",
        default=Settings.health_probe_bind_address,
        help="host:port of /healthz and /readyz; 0 disables them",
    )
    add(
        "--leader-elect",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="run controllers only while holding the lease, which has the name of the component",
    )
    add("--cache-dir", type=Path, default=Path("/var/cache") / name, help="directory for content by digest")
    add("--registries-conf", type=Path, help="mirrors and insecure registries")
    add(
        "--pull-cas-dir",
        type=Path,
        help="directory of CA certificates (*.crt and *.pem) trusted for sources, in addition to the system's",
    )
    add(
        "--allow-source-cidr",
        action="append",
        default=[],
        help="allow sources in this CIDR, although it is loopback, link-local or similar; may be repeated",
    )
    add("--log-level", choices=("debug", "info", "warning", "error"), default="info", help="minimum level of log lines")
    return parser


def add_jobs_memory(parser: ArgumentParser) -> None:
    """The flag of components that have jobs."""
    parser.add_argument(
        "--jobs-memory",
        type=quantity,
        metavar="BYTES",
        help="memory of all jobs together, such as 1536Mi or 3Gi; default: what the limit of the container leaves, or 4Gi",
    )


def add_pull_secret(parser: ArgumentParser, objects: str) -> None:
    """The flag of components that fetch the sources of these objects."""
    parser.add_argument(
        "--pull-secret",
        default="",
        help=f"Secret in the system namespace with credentials for all {objects}, which come after those of their own Secrets",
    )


def add_webhook_bind_address(parser: ArgumentParser) -> None:
    """The flag of components with admission webhooks."""
    parser.add_argument(
        "--webhook-bind-address",
        default=":9443",
        help="host:port of the admission webhooks, over HTTPS; 0 disables them, and nothing waits for their answers",
    )


def add_replica_address(parser: ArgumentParser) -> None:
    """The flag of components of which one replica asks another."""
    parser.add_argument(
        "--replica-address",
        help="host:port at which the other replicas reach this one; default: the serving address",
    )


def add_helm(parser: ArgumentParser) -> None:
    """The flag of components that render charts."""
    parser.add_argument(
        "--helm", type=Path, metavar="PATH", help="the program helm, version 3, which renders Helm charts"
    )


def add_require_service_account(parser: ArgumentParser) -> None:
    """The flag of rukpak that forbids installations with its own permissions."""
    parser.add_argument(
        "--require-service-account",
        action="store_true",
        help="install and delete nothing for a BundleDeployment that names no ServiceAccount; required where rukpak itself has "
        "few permissions",
    )


def quantity(text: str) -> int:
    """Bytes, as a Kubernetes quantity: digits, and Ki, Mi or Gi. Raises ValueError."""
    found = re.fullmatch(r"([0-9]{1,15})(|Ki|Mi|Gi)", text)
    if found is None:
        raise ValueError(f"not a number of bytes: {text}")
    return int(found[1]) << 10 * ("", "Ki", "Mi", "Gi").index(found[2])


def parse_settings(parser: ArgumentParser, argv: Sequence[str] | None) -> Settings:
    """The flags of a command line as Settings; exits with a usage message if they are invalid."""
    flags = parser.parse_args(argv)
    if flags.keys_namespace == flags.system_namespace:  # see decision 14
        parser.error("--keys-namespace and --system-namespace are the same namespace: keys need one of their own")
    return Settings(
        cache_dir=flags.cache_dir,
        kubeconfig=flags.kubeconfig,
        system_namespace=flags.system_namespace,
        keys_namespace=flags.keys_namespace,
        metrics_bind_address=flags.metrics_bind_address,
        health_probe_bind_address=flags.health_probe_bind_address,
        leader_elect=flags.leader_elect,
        registries_conf=flags.registries_conf,
        pull_cas_dir=flags.pull_cas_dir,
        allow_source_cidr=tuple(flags.allow_source_cidr),
        log_level=flags.log_level,
        jobs_memory=getattr(flags, "jobs_memory", None),
        pull_secret=getattr(flags, "pull_secret", ""),
        helm=getattr(flags, "helm", None),
        require_service_account=getattr(flags, "require_service_account", False),
        webhook_bind_address=getattr(flags, "webhook_bind_address", Settings.webhook_bind_address),
        replica_address=getattr(flags, "replica_address", None) or "",
        extra=flags,
    )
