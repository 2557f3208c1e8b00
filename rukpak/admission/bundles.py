"""Decides what the webhook `vbundles.core.rukpak.io` allows: a Bundle is created as it is wanted, and its spec never changes.

The API server asks only about creations and changes of the spec (config/webhook). What the schema of the CRD refuses does not get
here. Pure.
"""

from __future__ import annotations

from collections.abc import Collection

from pydantic import ValidationError

from olmkit.admission.review import AdmissionRequest, Denial
from olmkit.api.bundles import BundleSpec
from olmkit.api.meta import Object
from rukpak.bundle.source_problem import source_problem

WEBHOOK = "vbundles.core.rukpak.io"
PROBE_ANNOTATION = "core.rukpak.io/admission-probe"
"""The annotation of a Bundle that is never created: rukpak.admission.probe asks with it whether this webhook is asked."""
PROBE_ANSWERED = "bundles with this annotation are not created"
"""The reason with which such a Bundle is denied."""
IMMUTABLE = "bundle.spec is immutable"
"""The reason of a denial, without a message: kubectl prints it where both stand."""


def validate_bundle(request: AdmissionRequest, mutable: Collection[str] = ()) -> Denial | None:
    """Explain why a Bundle is not created, or not changed; None if it is. `mutable`: ConfigMaps that are known to be mutable."""
    if request.obj is None:
        return None
    if request.old is None:
        annotations = request.obj["metadata"].get("annotations") or {}
        if PROBE_ANNOTATION in annotations:
            return Denial(PROBE_ANSWERED)
        problem = _source_problem(request.obj, mutable)
        return Denial(problem) if problem else None
    return None if _spec(request.obj) == _spec(request.old) else Denial(IMMUTABLE)


def _source_problem(bundle: Object, mutable: Collection[str]) -> str:
    """Explain what is wrong with the source; empty if nothing is, and for a spec that this version cannot read."""
    try:
        return source_problem(BundleSpec.load(bundle.get("spec")).source, mutable)
    except ValidationError:
        return ""


def _spec(bundle: Object) -> object:
    """The meaning of a spec: without the order of its keys, with its defaults, and without fields that are null.

    A spec that this version cannot read, such as one that a newer version wrote, is compared as it is.
    """
    try:
        return BundleSpec.load(bundle.get("spec"))
    except ValidationError:
        return bundle.get("spec")
