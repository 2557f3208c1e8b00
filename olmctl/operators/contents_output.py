"""`olm show PACKAGE --permissions`: what a version of a package may do, and what it brings, before it is installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from olmctl.commands import warn
from olmctl.operators.output import print_object
from olmctl.questions.bundle_contents import WATCHED, PackageContents, package_contents
from olmctl.questions.bundle_summaries import bundles_of
from olmctl.questions.catalog_offers import offered_entries
from olmctl.questions.errors import QuestionError
from olmctl.questions.package import channels
from olmctl.questions.packages import with_summary
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmctl.terminal_output import say
from olmkit.api.meta import Object

MAX_ITEMS = 20
"""Lines of one list; -o yaml has all."""


async def show_contents(
    session: Session, package: str, catalog: str | None, version: str | None, output: str | None
) -> int:
    """Show the contents of that version in the first catalog of the package, or in that one; without a version, of the head of
    its default channel."""
    first = (await offered_entries(session, package, catalog))[0]
    if version is None:
        entry, _ = await with_summary(session, first)
        head = next((each.version for each in channels(entry) if each.is_default), "")
        if not head:
            await bundles_of(session, package, first.catalog)  # the reason for which its catalog cannot be read
            raise QuestionError(f"the newest version of {package} is not known: give one with --version")
        version = head
    found = await package_contents(session, first, version)
    if found.note:
        warn(found.note)
    if output:
        print_object(as_value(found), output)
    else:
        for line in lines(found):
            say(line)
    return 0


def lines(found: PackageContents) -> Iterator[str]:
    """The contents for people."""
    bundle, contents = found.bundle, found.contents
    yield f"{clean(bundle.package)} {clean(bundle.version)} of catalog {clean(bundle.catalog)}"
    yield f"Installed into {clean(contents.namespace)}, it watches {_watched(contents.watched)}."
    for risk in contents.risks:
        yield ""
        yield f"{clean(risk.title)}:"
        yield from (f"  {clean(each)}" for each in risk.sentences)
    if not contents.risks:
        yield ""
        yield "It has no permissions."
    yield from _listed("CustomResourceDefinitions", contents.definitions)
    yield from _listed("Webhooks", contents.webhooks)
    yield from _listed("Requires", contents.required)
    yield from _listed("Images", contents.images)
    yield from _listed("Objects", [f"{count} {kind}" for kind, count in contents.objects.items()])


def _watched(namespaces: Sequence[str]) -> str:
    if not namespaces:
        return "nothing that is known"
    if namespaces[0] == WATCHED:
        return f"namespaces that have to be chosen: {' and '.join(namespaces)} stand for them"
    return "all namespaces" if namespaces == ("",) else f"namespace {clean(namespaces[0])}"


def _listed(title: str, items: Sequence[str]) -> Iterator[str]:
    if not items:
        return
    yield ""
    yield f"{title}:"
    yield from (f"  {clean(each)}" for each in items[:MAX_ITEMS])
    if len(items) > MAX_ITEMS:
        yield f"  and {len(items) - MAX_ITEMS} more; -o yaml names all"


def as_value(found: PackageContents) -> Object:
    """The contents for programs."""
    contents = found.contents
    return {
        "package": found.bundle.package,
        "catalog": found.bundle.catalog,
        "version": found.bundle.version,
        "image": found.bundle.image,
        "statedBy": "Catalog" if found.note else "Image",
        "namespace": contents.namespace,
        "watchNamespaces": list(contents.watched),
        "permissions": [
            {"account": each.account, "risk": each.risk.name.capitalize(), "sentences": list(each.sentences)}
            for each in contents.risks
        ],
        "customResourceDefinitions": list(contents.definitions),
        "webhooks": list(contents.webhooks),
        "required": list(contents.required),
        "images": list(contents.images),
        "objects": dict(contents.objects),
    }
