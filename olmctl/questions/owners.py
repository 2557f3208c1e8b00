"""The ClusterExtension that an Operator belongs to, and the ClusterCatalog that a Catalog belongs to.

The translation of the owner sets some fields of what it owns, and creates it again: who wants these changed changes the owner.
`olm` and the console ask here before they offer or make such a change. Pure.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from olmctl.questions.operator_state import text_at
from olmctl.terminal import clean
from olmkit.api import clustercatalogs, clusterextensions
from olmkit.api.meta import Kind, Object, controlling_owner

_KINDS = {(each.api_version, each.kind): each for each in (clustercatalogs.KIND, clusterextensions.KIND)}


@dataclass(frozen=True)
class Owner:
    """The object of OLM v1 that an Operator or a Catalog belongs to."""

    kind: Kind
    name: str
    """Printable: whoever may write the reference can give it any text."""

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.name}"

    def command(self, verb: str) -> str:
        """The command that changes or deletes it."""
        return f"kubectl {verb} {self.kind.plural}.{self.kind.group} {shlex.quote(self.name)}"


def owner_of(found: Object) -> Owner | None:
    """The ClusterExtension of an Operator, or the ClusterCatalog of a Catalog; None if it belongs to neither."""
    reference = controlling_owner(found)
    kind = _KINDS.get((text_at(reference, "apiVersion"), text_at(reference, "kind")))
    return Owner(kind, clean(text_at(reference, "name"))) if kind is not None else None


def is_called(found: Object, name: str) -> bool:
    """Report whether an Operator has this name, or belongs to the ClusterExtension of this name."""
    return text_at(found, "metadata", "name") == name or owner_of(found) == Owner(clusterextensions.KIND, name)


def change_refusal(found: Object) -> str:
    """The reason why fields that the owner sets are not changed; "" if nobody owns the object."""
    owner = owner_of(found)
    return f"{_belongs(found, owner)}, which sets this: change that ({owner.command('edit')})" if owner else ""


def deletion_refusal(found: Object) -> str:
    """The reason why the object is not deleted by itself; "" if nobody owns it."""
    owner = owner_of(found)
    return f"{_belongs(found, owner)}, which creates it again: delete that ({owner.command('delete')})" if owner else ""


def _belongs(found: Object, owner: Owner) -> str:
    return clean(f"{text_at(found, 'kind')} {text_at(found, 'metadata', 'name')} belongs to {owner}")
