"""The values of a ClusterSnapshot, parsed. Called by component_solver.py and package_domain.py. Pure."""

from __future__ import annotations

from olmkit.gocompat.versions import BadRange, BadVersion, Version, parse_bundle_version
from operator_controller.resolve.cluster_snapshot import OperatorRequest, RecordedBundle
from operator_controller.resolve.snapshot import PackageRequest, RunningBundle
from operator_controller.resolve.version_range import MastermindsRange


def package_request(operator: OperatorRequest) -> PackageRequest:
    """The request of the spec. A range that cannot be read requests every version: such an Operator is not resolvable."""
    try:
        versions = MastermindsRange.parse(operator.version) if operator.version else None
    except BadRange:
        versions = None
    approved = operator.approved_version if operator.is_manual else ""
    return PackageRequest(
        operator.package,
        operator.channel,
        versions,
        not operator.ignores_upgrade_edges,
        is_dependency=operator.is_dependency and versions is None and not operator.channel,
        approved_version=approved,
    )


def running_bundle(recorded: RecordedBundle | None) -> RunningBundle | None:
    """The recorded bundle with its version parsed."""
    if recorded is None:
        return None
    return RunningBundle(
        name=recorded.name,
        image=recorded.image,
        package=recorded.package,
        version=parsed_version(recorded.version),
        version_text=recorded.version,
        catalog=recorded.catalog,
        channel=recorded.channel,
    )


def parsed_version(text: str) -> Version | None:
    """The version of a recorded bundle; None if it cannot be read."""
    try:
        return parse_bundle_version(text)
    except BadVersion:
        return None
