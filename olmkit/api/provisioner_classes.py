"""Names of provisioner classes: the format of the content of a Bundle. Pure.

Imports no model, because child processes need the names and no models.
"""

from __future__ import annotations

from olmkit.api.patterns import DNS_LABEL

PLAIN = "core-rukpak-io-plain"
"""Provisioner of plain+v0 bundles, and of every BundleDeployment."""
REGISTRY = "core-rukpak-io-registry"
"""Provisioner of registry+v1 bundles."""
HELM = "core-rukpak-io-helm"
"""Provisioner of Helm charts; of a BundleDeployment too, as upstream has it."""
PROVISIONER_PATTERN = rf"^{DNS_LABEL}$"
