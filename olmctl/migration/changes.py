"""Patches an object of the cluster as it is, also if others change it meanwhile, and deletes one."""

from __future__ import annotations

from collections.abc import Callable

from olmctl.commands import FAILED, CommandError
from olmctl.migration.values import full_name, name_of, namespace_of
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmctl.terminal_output import say
from olmkit.api.meta import Kind, Object
from olmkit.errors import Conflict, NotFound

PatchOf = Callable[[Object], Object | None]
"""The patch for an object as it is; None if there is nothing to change."""
MAX_PATCHES = 20
"""Times that an object is read again because others have changed it."""


async def change(session: Session, kind: Kind, obj: Object, patch_of: PatchOf, manager: str = "") -> None:
    """Patch an object as it is, and again if others have changed it meanwhile; nothing if it is gone, or another one by now. With
    a field manager, what `patch_of` returns is applied as that one's."""
    name, namespace, uid = name_of(obj), namespace_of(obj) or None, obj["metadata"]["uid"]
    for _ in range(MAX_PATCHES):
        patch = patch_of(obj)
        if patch is None:
            return
        try:
            if manager:
                await session.client.apply(kind, patch, manager)
            else:
                await session.client.patch(kind, name, patch, namespace)
            return
        except NotFound:
            return
        except Conflict:
            try:
                obj = await session.client.get(kind, name, namespace)
            except NotFound:
                return
            if obj["metadata"]["uid"] != uid:
                return
    raise CommandError(FAILED, f"{kind.kind} {namespace or ''}/{name} is changed by others again and again")


async def delete(session: Session, kind: Kind, obj: Object) -> None:
    """Delete an object, and print that it is deleted; nothing if it is gone. Raises Conflict if another one has its name."""
    namespace = namespace_of(obj) or None
    try:
        await session.client.delete(kind, name_of(obj), namespace, uid=obj["metadata"]["uid"])
    except NotFound:
        return
    say(f"{kind.kind} {clean(full_name(obj) if namespace else name_of(obj))} deleted")
