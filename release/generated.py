"""Writes the files of the repository that are made from others, or checks them: `python -m release.generated [--check]`.

    config/crd/                      olmkit.api.crd, from the models
    config/operator-conditions/      the same
    config/v1/crds.yaml              the same
    config/packagemanifests/         olmkit.api.package_manifests
    docs/api.md                      release.reference, from the models
    config/argocd/argocd-cm.yaml     release.argocd, from the Lua scripts next to it
    config/grafana/olm-suite.json    release.dashboard
    olmctl/suite/manifests.yaml      release.bundled_manifests, from config/default
    olmctl/suite/console.yaml        the same, from config/console
    olmctl/suite/v1.yaml             the same, from config/v1

Called by `make generate`, and by `make check`, which fails if one of them is not up to date. Never connects to a cluster.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path

from devcluster.processes import REPOSITORY
from olmctl.suite.manifests import CONSOLE_FILE_NAME, FILE_NAME, SYSTEM_NAMESPACE, V1_FILE_NAME, documents
from olmkit.api import crd
from olmkit.api.crd import (
    CRD_DEFINITIONS,
    V1_DEFINITIONS,
    custom_resource_definition,
    operator_condition_definition,
)
from olmkit.api.package_manifests import package_manifest_objects
from release import argocd, bundled_manifests, dashboard, reference
from release.suite import CONFIG, SUITE

CRDS = CONFIG / "crd"
OPERATOR_CONDITIONS = CONFIG / "operator-conditions"
V1 = CONFIG / "v1"
PACKAGE_MANIFESTS = CONFIG / "packagemanifests"


def generated() -> dict[Path, str]:
    """Path -> text of all generated files."""
    return {
        **{CRDS / name: text for name, text in crd.render(map(custom_resource_definition, CRD_DEFINITIONS)).items()},
        **{OPERATOR_CONDITIONS / name: text for name, text in crd.render([operator_condition_definition()]).items()},
        V1 / "crds.yaml": documents(map(custom_resource_definition, V1_DEFINITIONS)),
        PACKAGE_MANIFESTS / "packagemanifests.yaml": documents(package_manifest_objects(SYSTEM_NAMESPACE)),
        PACKAGE_MANIFESTS / "kustomization.yaml": crd.kustomization(["packagemanifests.yaml"]),
        REPOSITORY / "docs" / "api.md": reference.render(),
        CONFIG / "argocd" / "argocd-cm.yaml": argocd.config_map(CONFIG / "argocd" / "resource_customizations"),
        CONFIG / "grafana" / f"{SUITE}.json": dashboard.dashboard_text(),
        REPOSITORY / "olmctl" / "suite" / FILE_NAME: bundled_manifests.bundled_text("default"),
        REPOSITORY / "olmctl" / "suite" / CONSOLE_FILE_NAME: bundled_manifests.bundled_text("console"),
        REPOSITORY / "olmctl" / "suite" / V1_FILE_NAME: bundled_manifests.bundled_text("v1"),
    }


def write_or_check(files: Mapping[Path, str], directory: Path, is_check: bool) -> int:
    """Write the files whose text differs, and remove other YAML files of `directory`, which has none but generated ones.

    With `is_check` nothing is changed, and each such file is reported. Returns the exit status.
    """
    differing = [path for path, text in files.items() if not path.is_file() or path.read_text() != text]
    stale = [path for path in sorted(directory.glob("*.yaml")) if path not in files]
    if is_check:
        for path in (*differing, *stale):
            print(f"{path} is not up to date: run `make generate` and commit the result", file=sys.stderr)
        return 1 if differing or stale else 0
    for path in differing:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path])
    for path in stale:
        path.unlink()
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the arguments; write, or check. Returns the exit status."""
    parser = ArgumentParser(prog="python -m release.generated", description="Write the generated files.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail if one is not up to date")
    return write_or_check(generated(), CRDS, parser.parse_args(arguments).check)


if __name__ == "__main__":
    sys.exit(main())
