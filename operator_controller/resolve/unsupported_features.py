"""The message about a bundle with features that rukpak does not install: webhooks and API services.

Called by operator/blockers.py before the bundle is installed, and by the command `olm` before it is requested. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from olmkit.gocompat.versions import parse_bundle_version
from operator_controller.resolve.answer import SelectedBundle
from operator_controller.resolve.formatting import first_names, format_versions


def unsupported_features(bundle: SelectedBundle, without_certificates: Sequence[str]) -> str:
    """What rukpak would refuse in a registry+v1 bundle according to its catalog, and what to do; "" if nothing.

    `without_certificates` are the versions that need none and can be installed now, ascending.
    """
    known = (("has webhooks", bundle.webhooks), ("owns API services", bundle.api_services))
    what = " and ".join(f"{words} ({first_names(sorted(names))})" for words, names in known if names)
    if not what:
        return ""
    refused = f'bundle "{bundle.name}" {what}, which are not supported yet'
    as_plain = "install its manifests as a plain+v0 bundle that brings its own certificates"
    if not without_certificates:
        none = f'catalog "{bundle.catalog}" offers no version without them that can be installed now'
        return f"{refused}: {none}; {as_plain}"
    versions = format_versions([*map(parse_bundle_version, without_certificates)], parse_bundle_version(bundle.version))
    return f"{refused}: choose a version for which the catalog names none ({versions}), or {as_plain}"
