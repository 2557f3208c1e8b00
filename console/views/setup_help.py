"""The instructions to install the suite, for a cluster that does not have it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.views.parts import Note

_CATALOG = """\
kubectl apply -f - <<'EOF'
apiVersion: catalogd.operatorframework.io/v1alpha1
kind: Catalog
metadata:
  name: operatorhubio
spec:
  source:
    type: image
    image:
      ref: quay.io/operatorhubio/catalog:latest
EOF"""


@dataclass(frozen=True)
class Step:
    """One step with its command."""

    title: str
    text: str
    command: str


@dataclass(frozen=True)
class SetupView:
    """The page."""

    cluster: str
    steps: tuple[Step, ...]
    notes: tuple[Note, ...]


def setup_view(cluster: str, version: str, context: str, refusal: str, command: str, v0: int | None) -> SetupView:
    """The page. `refusal` says that the user may not create CustomResourceDefinitions; `v0` is the number of Subscriptions of OLM
    v0, None if it is not there."""
    chosen = f" --context {context}" if context else ""
    tag = f"v{version}" if version and version[0].isdigit() else version or "VERSION"
    steps = (
        Step("Install the command", "You need Python 3.11 or later.", "pipx install 'olm-suite[console]'"),
        Step(
            "Install the suite",
            "You need the permissions of cluster-admin. REGISTRY is where your cluster finds the image of olm-suite; the command"
            " lists what it applies.",
            f"olm suite install --image REGISTRY/olm-suite:{tag}{chosen}",
        ),
        Step(
            "Add a catalog",
            "This one has the operators of OperatorHub.io. This page has a form for others as soon as the suite is there.",
            _CATALOG.replace("apply", f"apply{chosen}", 1),
        ),
    )
    return SetupView(cluster, steps, tuple(_notes(refusal, command, v0)))


def _notes(refusal: str, command: str, v0: int | None) -> Sequence[Note]:
    notes = []
    if refusal:
        notes.append(Note("info", refusal, "Somebody with cluster-admin has to run step 2.", "info", command=command))
    if v0 is not None:
        counted = f" with {v0} Subscription{'' if v0 == 1 else 's'}" if v0 else ""
        notes.append(
            Note(
                "warn",
                "OLM v0 is here.",
                f"clusterserviceversions.operators.coreos.com exists{counted}. Both can run side by side; `olm migrate v0` moves"
                " what OLM v0 has installed.",
                "alert",
            )
        )
    return notes
