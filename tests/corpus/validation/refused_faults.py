"""What upstream's validators say of bundles and olm does not, each with its reason."""

from __future__ import annotations

REFUSED = {
    "manifests-label-parent": "a label that leads out of the bundle is refused: nothing outside a bundle is read",
}
"""Faulty bundle -> why the findings differ."""
