"""All extra checks of a bundle, in a fixed order. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from olmctl.validation.extra import (
    definitions,
    deployments,
    examples,
    install,
    metadata,
    objects,
    rbac,
    versions,
    yaml_faults,
)
from olmctl.validation.extra.report import Checked
from olmctl.validation.finding import Finding
from olmctl.validation.loaded_bundle import LoadedBundle

MAX_FINDINGS: Final = 500
"""Extra findings of one bundle that are reported."""
_Check = Callable[[Checked], Iterator[Finding]]
_OF_FILES: Final[tuple[_Check, ...]] = (metadata.metadata_findings, yaml_faults.file_findings)
_OF_OBJECTS: Final[tuple[_Check, ...]] = (
    yaml_faults.object_findings, yaml_faults.unknown_field_findings, objects.object_findings, definitions.definition_findings,
    rbac.rbac_findings,
)  # fmt: skip
_OF_CSV: Final[tuple[_Check, ...]] = (
    versions.version_findings, versions.install_findings, deployments.deployment_findings, examples.example_findings,
    examples.descriptor_findings, examples.icon_findings, install.install_findings,
)  # fmt: skip


def check(bundle: LoadedBundle) -> Iterator[Finding]:
    """The extra findings. Of a bundle that cannot be loaded only the files are checked."""
    return islice(_findings(bundle), MAX_FINDINGS)


def _findings(bundle: LoadedBundle) -> Iterator[Finding]:
    checked = Checked(bundle)
    checks = _OF_FILES if bundle.csv is None else (*_OF_FILES, *_OF_OBJECTS, *_OF_CSV)
    for each in checks:
        yield from each(checked)
