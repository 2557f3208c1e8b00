"""The problems of the source of a Bundle, in the words of rukpak's webhook upstream: `vbundles` denies such a Bundle, and the
controller reports it where the webhook was not asked. Pure.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator

from olmkit.api.bundles import BundleSource
from olmkit.gocompat.text import quoted


def source_problem(source: BundleSource, mutable: Collection[str] = ()) -> str:
    """Explain what is wrong with the source; empty if nothing is. `mutable` are ConfigMaps that are known to be mutable."""
    members = {
        "image": source.image,
        "git": source.git,
        "http": source.http,
        "configMaps": source.config_maps,
        "upload": source.upload,
        "chart": source.chart,
    }
    if not members[source.type]:
        return f'{_field(source.type)} must be set for source type "{source.type.lower()}"'
    others = [name for name, value in members.items() if value is not None and name != source.type]
    if others:
        return f'{_field(others[0])} must not be set for source type "{source.type.lower()}"'
    if source.git is not None and (source.git.directory or "").startswith("../"):
        return 'bundle.spec.source.git.directory begins with "../": directory must define path within the repository'
    problems = list(dict.fromkeys(_of_config_maps(source, mutable)))
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]" if problems else ""


def _field(member: str) -> str:
    return f"bundle.spec.source.{member.lower()}"


def _of_config_maps(source: BundleSource, mutable: Collection[str]) -> Iterator[str]:
    for index, each in enumerate(source.config_maps or ()):
        field, path, name = f"{_field('configMaps')}[{index}]", each.path or "", each.config_map.name
        if posixpath.normpath(path).split("/")[0] in ("", ".."):
            yield f"{field}.path is invalid: {quoted(path)} is outside bundle root"
        if name in mutable:
            yield f"{field}.configmap.name is invalid: configmap {quoted(name)} is not immutable"
