"""The ValidatingAdmissionPolicy on the labels of rukpak: its name and kinds, for rukpak and the command `olm`. Pure."""

from __future__ import annotations

from olmkit.api.meta import Kind

POLICIES = Kind("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies")
BINDINGS = Kind(
    "admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"
)
POLICY = "olm-suite-labels"
"""The name of the policy, and the beginning of the names of its bindings."""
