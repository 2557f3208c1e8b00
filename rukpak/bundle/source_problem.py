"""The problems of the source of a Bundle, in the words of rukpak's webhook upstream: `vbundles` denies such a Bundle, and the
controller reports it where the webhook was not asked. Pure.
"""

from __future__ import annotations

from olmkit.api.bundles import BundleSource


def source_problem(source: BundleSource) -> str:
    """Explain what is wrong with the source; empty if nothing is."""
    members = {"image": source.image, "git": source.git, "http": source.http}
    if members[source.type] is None:
        return f'bundle.spec.source.{source.type} must be set for source type "{source.type}"'
    others = [name for name, value in members.items() if value is not None and name != source.type]
    if others:
        return f'bundle.spec.source.{others[0]} must not be set for source type "{source.type}"'
    if source.git is not None and (source.git.directory or "").startswith("../"):
        return 'bundle.spec.source.git.directory begins with "../": directory must define path within the repository'
    return ""
