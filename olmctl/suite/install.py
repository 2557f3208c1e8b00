"""`olm suite install`: apply the manifests of this version, and wait until the controllers are available and lead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from olmctl.commands import FAILED, REFUSED, TIMED_OUT, CommandError, warn
from olmctl.operators.follow import RETRY_DELAY_SECONDS, versions_of
from olmctl.operators.session import on_cluster
from olmctl.questions.operator_state import is_terminating, part
from olmctl.questions.own_fields import FIELD_MANAGER
from olmctl.questions.port_forward import POD
from olmctl.questions.session import Session
from olmctl.suite.helm_release import warn_of_helm_release
from olmctl.suite.installed import (
    check_installed,
    check_system_namespace,
    delete_leftovers,
    find_controllers,
    find_leftovers,
)
from olmctl.suite.kept_settings import kept_image
from olmctl.suite.manifests import (
    PART_OF,
    PART_OF_LABEL,
    SYSTEM_NAMESPACE,
    Manifests,
    documents,
    load_manifests,
    pull_secrets_of,
)
from olmctl.suite.objects import (
    ObjectState,
    deletion_text,
    find_all,
    kind_of,
    name_of,
    place_of,
    states,
)
from olmctl.suite.operator_conditions import foreign_definition, with_definition, with_own_definition
from olmctl.suite.package_manifests import (
    check_package_manifests,
    with_own_package_manifests,
    with_package_manifests,
)
from olmctl.suite.preflight import check_permissions, check_version, install_permissions
from olmctl.suite.running import with_leaders
from olmctl.suite.status import exit_status, print_states
from olmctl.suite.v1_kinds import ServeV1, forget_generator, with_chosen_v1, with_v1
from olmctl.suite.watched import Watched
from olmctl.suite.web_console import SESSION_KEY_SECRET, key_command, make_session_key, with_console, with_own_console
from olmctl.terminal_output import ProgressLine, say, write_document
from olmkit.api.meta import Object
from olmkit.errors import Conflict, Forbidden, NotFound, Unavailable
from olmkit.runtime.client import Client
from olmkit.runtime.election import LeaseDurations
from olmkit.tls.certificate_rotator import SECRET


def install(export: bool, **options: Any) -> int:
    """Install the suite, or change the one that is installed to this version and this image. `export`: print the manifests."""
    namespace = options["system_namespace"] or SYSTEM_NAMESPACE
    check_system_namespace(namespace)
    if not export:
        return _install(**options)
    manifests = load_manifests(options["image"], namespace, pull_secrets=options["pull_secrets"])
    write_document(documents(_exported(manifests, namespace, options).all))
    return 0


@on_cluster
async def _install(session: Session, image: str, **options: Any) -> int:
    namespace, pull_secrets = await session.system_namespace(), options["pull_secrets"]
    manifests = load_manifests(image, namespace, pull_secrets=pull_secrets)
    client, seconds = session.client, options["seconds"]
    deadline = asyncio.get_running_loop().time() + seconds
    await check_version(client)
    await check_permissions(client, install_permissions(manifests))
    controllers = await find_controllers(client, manifests, namespace)
    image, pull_secrets = image or kept_image(manifests, controllers), pull_secrets or pull_secrets_of(controllers)
    manifests = load_manifests(image, namespace, pull_secrets=pull_secrets)
    manifests = await _with_optional_parts(session, manifests, controllers, options)
    found = await _wait_for_deletions(client, manifests, deadline, seconds)
    is_dry_run, is_waiting = bool(options["dry_run"]), not options["no_wait"]
    await check_installed(client, manifests, controllers, is_forced=options["is_forced"])
    await warn_of_helm_release(client, controllers)
    checked = await _apply_dry(
        client, manifests, found, _force_rule(manifests, options["is_forced"]), is_shown=is_dry_run
    )
    if is_dry_run:
        return 0
    await forget_generator(client, manifests)
    await _apply(client, checked[: len(manifests.crds)])
    await _wait(client, manifests.crds, deadline, seconds)
    await _apply_objects(client, manifests, checked[len(manifests.crds) :])
    leftovers = await find_leftovers(client, manifests)
    if is_waiting:
        await _wait(client, manifests.awaited, deadline, seconds)
        return await _finish(session, manifests, leftovers)
    if leftovers:
        text = f"controllers of another version may still need {', '.join(map(name_of, leftovers))}"
        say(f"{text}: `olm suite install` deletes them when those of this version are available", err=True)
    return 0


def _exported(manifests: Manifests, namespace: str, options: Mapping[str, Any]) -> Manifests:
    """The manifests with the parts that are asked for. The Secret of the console is none: no key belongs into a repository."""
    manifests = with_definition(manifests) if options["operator_conditions"] else manifests
    if options["console"]:
        manifests = with_console(manifests)
        text = f"the console needs the Secret {SESSION_KEY_SECRET}, which is not printed: {key_command(namespace)}"
        say(text, err=True)
    manifests = with_v1(manifests) if options["serve_v1"] == ServeV1.ALWAYS else manifests
    return with_package_manifests(manifests, namespace) if options["package_manifests"] else manifests


_ForceRule = Callable[[Object], bool]
"""Reports whether the fields of an object that others manage are taken over."""


def _force_rule(manifests: Manifests, is_forced: bool) -> _ForceRule:
    return lambda obj: is_forced or (obj["kind"], obj["metadata"]["name"]) in manifests.taken_over


async def _apply_objects(client: Client, manifests: Manifests, checked: Sequence[_Checked]) -> None:
    await _apply(client, checked)
    await delete_leftovers(client, manifests.unwanted)
    if await make_session_key(client, manifests):
        say(f"secret/{SESSION_KEY_SECRET} created", flush=True)


async def _with_conditions(client: Client, manifests: Manifests, *, is_wanted: bool) -> Manifests:
    """The manifests with the CRD of OperatorConditions, as with_own_definition() has it; warns if it is not the suite's."""
    found = await with_own_definition(client, manifests, is_wanted=is_wanted)
    if is_wanted and (text := foreign_definition(found)):
        warn(text)
    return found


async def _with_optional_parts(
    session: Session, manifests: Manifests, controllers: Sequence[Object], options: Mapping[str, Any]
) -> Manifests:
    """The manifests with the parts that are asked for, or that the suite has on the cluster. Raises Refused."""
    client, namespace = session.client, await session.system_namespace()
    manifests = await _with_conditions(client, manifests, is_wanted=options["operator_conditions"])
    manifests = await with_own_console(client, manifests, is_wanted=options["console"])
    manifests = await _with_v1(client, manifests, ServeV1(options["serve_v1"]))
    if not options["package_manifests"]:
        return await with_own_package_manifests(client, manifests, namespace)
    await check_package_manifests(client, namespace, controllers)
    return with_package_manifests(manifests, namespace)


async def _with_v1(client: Client, manifests: Manifests, mode: ServeV1) -> Manifests:
    """The manifests with the kinds of OLM v1 or without them; says what a person should know about it. Raises Refused."""
    line = ProgressLine(is_for_terminal=True)
    try:
        manifests, text = await with_chosen_v1(client, manifests, mode, line.show)
    finally:
        line.end()
    if text:
        say(text, err=True)
    return manifests


async def _finish(session: Session, manifests: Manifests, leftovers: Sequence[Object]) -> int:
    """Delete what no controller needs, and print the state with the leaders, which have a time of their own. Returns the exit
    status."""
    session.time.lift()
    await delete_leftovers(session.client, leftovers)
    # As `olm suite status`, which reads no Secrets.
    now = await states(session.client, [each for each in manifests.all if each["kind"] != SECRET.kind])
    line = ProgressLine(is_for_terminal=True)
    try:
        found = await with_leaders(
            session.client, await session.system_namespace(), now, line.show, LeaseDurations.duration
        )
    finally:
        line.end()
    print_states(found)
    return exit_status(found)


async def _wait_for_deletions(
    client: Client, manifests: Manifests, deadline: float, seconds: float
) -> list[Object | None]:
    """Wait for the end of objects that are being deleted: what is applied to them would be deleted too, or be refused. Returns
    what is there, as find_all(). Raises CommandError with TIMED_OUT and what holds them."""
    line = ProgressLine()
    found = await find_all(client, manifests.all)
    terminating = [each for each in found if each is not None and is_terminating(each)]
    for each in terminating:
        text = deletion_text(each)
        try:
            async with (
                asyncio.timeout_at(deadline),
                aclosing(versions_of(client, kind_of(each), *place_of(each))) as versions,
            ):
                async for version in versions:
                    if version is None or version["metadata"]["uid"] != each["metadata"]["uid"]:
                        break
                    text = deletion_text(version)
                    line.show(f"waiting for the deletion of {text}")
        except TimeoutError:
            raise CommandError(
                TIMED_OUT, f"nothing is installed: not deleted within {seconds:g} seconds: {text}"
            ) from None
        finally:
            line.end()
    return await find_all(client, manifests.all) if terminating else found


@dataclass(frozen=True)
class _Checked:
    """An object of the manifests, before it is applied and as the API server would have it afterwards.

    `is_forced`: its application takes over the fields of others. `before` is None if it does not exist, `after` if it could not
    be checked because its namespace does not exist.
    """

    wanted: Object
    is_forced: bool
    before: Object | None
    after: Object | None

    @property
    def outcome(self) -> str:
        """The effect of its application, as kubectl says it."""
        if self.before is None or self.after is None:
            return "created"
        return "unchanged" if _content(self.before) == _content(self.after) else "configured"

    @property
    def is_applied(self) -> bool:
        """Report whether its application would change nothing, nor who has applied its fields."""
        return self.outcome == "unchanged" and _managers(self.before) == _managers(self.after)


async def _apply_dry(
    client: Client, manifests: Manifests, found: Sequence[Object | None], forces: _ForceRule, *, is_shown: bool
) -> list[_Checked]:
    """Have the API server check each object that exists, and each that can be checked before its namespace exists. Returns them
    in their order.

    Raises CommandError if others manage the same fields, before anything is changed.
    """
    existing = {name_of(each) for each in found if each is not None}
    missing = {each["metadata"]["name"] for each in manifests.namespaces if name_of(each) not in existing}
    checked = []
    for obj, before in zip(manifests.all, found, strict=True):
        after = None
        if obj["metadata"].get("namespace") not in missing:
            after = await apply(client, obj, is_forced=forces(obj), is_dry_run=True)
        checked.append(_Checked(obj, forces(obj), before, after))
        if is_shown:
            say(f"{name_of(obj)} {checked[-1].outcome} (dry run)")
    for obj in manifests.unwanted if is_shown else ():
        say(f"{name_of(obj)} deleted (dry run)")
    return checked


async def _apply(client: Client, checked: Sequence[_Checked]) -> None:
    """Apply the objects that are not as they should be. Raises CommandError if somebody deletes what is being installed."""
    for each in checked:
        if not each.is_applied:
            await _apply_one(client, each, checked)
        say(f"{name_of(each.wanted)} {each.outcome}", flush=True)


async def _apply_one(client: Client, one: _Checked, checked: Sequence[_Checked]) -> None:
    try:
        await apply(client, one.wanted, is_forced=one.is_forced)
    except (Forbidden, NotFound) as error:
        found = await find_all(client, [each.wanted for each in checked])
        if deleted := [name_of(each) for each in found if each is not None and is_terminating(each)]:
            text = f"somebody has deleted {', '.join(deleted)} meanwhile: repeat this command"
            raise CommandError(FAILED, f"{name_of(one.wanted)}: {text}") from error
        raise


def _content(obj: Object) -> Object:
    """The object without what every request changes, and without its status."""
    left_out = ("managedFields", "resourceVersion", "generation")
    metadata = {key: value for key, value in obj["metadata"].items() if key not in left_out}
    return {**{key: value for key, value in obj.items() if key != "status"}, "metadata": metadata}


def _managers(obj: Object | None) -> list[Object]:
    """The managers that have applied fields of the object, with these fields."""
    return [each for each in part(obj or {}, "metadata", "managedFields") or () if each["operation"] == "Apply"]


async def apply(client: Client, obj: Object, *, is_forced: bool, is_dry_run: bool = False) -> Object:
    """Server-side apply of one object; returns it. Raises CommandError if others manage the same fields and it is not forced."""
    try:
        return await client.apply(kind_of(obj), obj, FIELD_MANAGER, force=is_forced, dry_run=is_dry_run)
    except Conflict as error:
        hint = "change it where it is managed, or take these fields over with --force"
        raise CommandError(REFUSED, f"{name_of(obj)}: {error.message}: {hint}") from error


async def _wait(client: Client, objects: Sequence[Object], deadline: float, seconds: float) -> None:
    """Wait until all objects are available, with a line of progress. Raises CommandError with TIMED_OUT and the causes."""
    line, now = ProgressLine(), asyncio.get_running_loop().time
    async with Watched(client) as watched:
        for kind in {*map(kind_of, objects), POD}:  # pods have the causes
            await watched.follow(kind, label_selector=f"{PART_OF_LABEL}={PART_OF}")
        while True:
            wake_at = deadline
            try:
                text = "; ".join(_text(each) for each in await states(client, objects) if not each.is_good)
            except Unavailable as error:
                text, wake_at = error.message, min(deadline, now() + RETRY_DELAY_SECONDS)
            if not text or now() >= deadline:
                break
            line.show(f"waiting for {text}")
            await watched.change(wake_at)
    line.end()
    if text:
        raise CommandError(TIMED_OUT, f"not within {seconds:g} seconds: {text}")


def _text(state: ObjectState) -> str:
    return f"{name_of(state.expected)}: {state.message or state.status}"
