"""Prints what was installed, and the first custom resource to try."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import aclosing

from olmctl.bundle.example import ANNOTATION, DEFAULT_NAMESPACE, Example, first_example, own_examples
from olmctl.bundle.facts import BundleFacts
from olmctl.bundle.source import BundleSource
from olmctl.object_text import as_yaml
from olmctl.operators.follow import versions_of
from olmctl.questions.installed_objects import NAMESPACE, InstalledObjects, installed_objects
from olmctl.questions.operator_state import is_terminating, part, text_at
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmctl.terminal_output import say
from olmkit.api import bundles
from olmkit.api.bundledeployments import OWNER_NAME_LABEL
from olmkit.api.meta import Object
from olmkit.api.names import is_dns1123_label, pluralize
from olmkit.errors import ApiError
from rukpak.format import BadBundle
from rukpak.render.install_modes import default_targets

MAX_EXAMPLE_LINES = 200
REMOVAL_SECONDS = 10.0
"""The longest time for which the objects are awaited that only the bundle before had."""
_END = "EOF"


async def print_installed(session: Session, source: BundleSource, deployment: Object) -> None:
    """Print what a BundleDeployment that is Ready has installed, and an example."""
    is_removed = await removal_ends(session, deployment)
    found = await installed_objects(session, deployment)
    namespace = text_at(deployment, "status", "installNamespace")
    watched = _watched(source.facts, deployment, namespace)
    say(summary(source.facts, namespace, watched, found))
    if not is_removed:
        say("note: objects of the earlier bundle that are still to be deleted are counted too", err=True)
    for problem in found.problems:
        say(f"note: {clean(problem)}", err=True)
    registry = source.facts.registry if source.facts else None
    if registry is None:
        return
    example = first_example(registry, watched, namespace)
    for line in command(example, namespace) if example else ():
        say(line)
    if example is not None and (problem := not_printed(example)):
        say(f"note: {problem}", err=True)
    if example is None and (count := len(own_examples(registry))):
        say(f"note: {none_fits(count)}", err=True)


async def removal_ends(session: Session, deployment: Object) -> bool:
    """Wait until rukpak deletes whatever only the bundle before had; False if it does not within REMOVAL_SECONDS. The Bundle of
    that one is deleted after its objects. True too if the user may not list Bundles."""
    name, active = text_at(deployment, "metadata", "name"), text_at(deployment, "status", "activeBundle")
    try:
        async with asyncio.timeout(REMOVAL_SECONDS):
            listed, _ = await session.client.list(bundles.KIND, label_selector=f"{OWNER_NAME_LABEL}={name}")
            for each in listed:
                if _is_earlier(each, deployment, active):
                    await _wait_until_left(session, each, deployment, active)
    except TimeoutError:
        return False
    except ApiError:
        pass
    return True


async def _wait_until_left(session: Session, bundle: Object, deployment: Object, active: str) -> None:
    """Wait until the Bundle is deleted, or is no earlier one any more. Never ends otherwise."""
    name = text_at(bundle, "metadata", "name")
    async with aclosing(versions_of(session.client, bundles.KIND, name)) as versions:
        async for found in versions:
            if found is None or not _is_earlier(found, deployment, active):
                return


def _is_earlier(bundle: Object, deployment: Object, active: str) -> bool:
    """Report whether it is a Bundle that was installed before the active one, and stays for now."""
    owners = part(bundle, "metadata", "ownerReferences") or ()
    is_own = any(each.get("uid") == text_at(deployment, "metadata", "uid") for each in owners)
    return is_own and text_at(bundle, "metadata", "name") != active and not is_terminating(bundle)


def none_fits(count: int) -> str:
    """The sentence about the examples of a bundle, none of which can be created."""
    several = f"none of the {count} examples of the bundle fits"
    subject = several if count > 1 else "the example of the bundle does not fit"
    return f"{subject} its CustomResourceDefinition: olm bundle validate says why"


def _watched(facts: BundleFacts | None, deployment: Object, namespace: str) -> tuple[str, ...]:
    """The namespaces that the operator watches; empty if they are not known."""
    given = part(deployment, "spec", "watchNamespaces")
    if given or facts is None or facts.registry is None:
        return tuple(given or ())
    try:
        return default_targets(facts.registry, namespace)
    except BadBundle:
        return ()


def summary(facts: BundleFacts | None, namespace: str, watched: tuple[str, ...], found: InstalledObjects) -> str:
    """One sentence about what runs where."""
    name = " ".join(filter(None, (facts.package, facts.version))) if facts else ""
    places = {(): "", ("",): ", watches all namespaces"}
    watching = places.get(watched, f", watches {', '.join(watched)}")
    is_registry = facts is not None and facts.registry is not None
    # Such a bundle has no other Namespace: one that it has left is deleted after it is Ready in the new one.
    counts = Counter(
        each.kind.kind
        for each in found.objects
        if not is_terminating(each.obj) and not (is_registry and each.kind == NAMESPACE and each.name != namespace)
    )
    objects = [pluralize(number, kind) for kind, number in sorted(counts.items())]
    if found.problems:
        objects.append(f"{pluralize(len(found.problems), 'kind')} cannot be listed")
    return clean(f"{name or 'the bundle'} is in namespace {namespace}{watching}: {', '.join(objects) or 'no objects'}")


def command(example: Example, install_namespace: str) -> Iterator[str]:
    """The lines of a command for a shell that creates the custom resource, and before it the namespace that it names. Nothing if
    it is too long to print."""
    lines, own = _lines(example), text_at(example.body, "metadata", "namespace")
    is_created = own not in (DEFAULT_NAMESPACE, install_namespace) and is_dns1123_label(own)
    if not_printed(example):
        return
    place = f" --namespace {example.namespace}" if example.namespace else ""
    yield ""
    yield f"To try it, create its first example{', and its namespace unless it exists' if is_created else ''}:"
    yield ""
    if is_created:
        yield f"kubectl create namespace {own}"
    yield f"kubectl apply{place} -f - <<'{_END}'"
    yield from lines
    yield _END


def not_printed(example: Example) -> str:
    """The sentence about an example that is not printed; "" if it is."""
    lines = _lines(example)
    place = f"see {ANNOTATION} in the ClusterServiceVersion"
    if len(lines) > MAX_EXAMPLE_LINES:
        return f"the first example of the bundle has {len(lines)} lines: {place}"
    return (
        "" if lines and _END not in lines else f"the first example of the bundle cannot be printed for a shell: {place}"
    )


def _lines(example: Example) -> list[str]:
    """The custom resource as YAML; empty if it is nested too deep."""
    try:
        return as_yaml(example.body).splitlines()
    except RecursionError:
        return []
