"""`olm migrate v0`: say what becomes of everything that OLM v0 has, and move packages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import click

from olmctl.commands import NOT_FOUND, REFUSED, CommandError
from olmctl.migration.confirmation import confirm
from olmctl.migration.controllers import CONTROLLERS, is_noted, start
from olmctl.migration.marks import is_being_removed
from olmctl.migration.packages import MigrationPlan, PackagePlan, make_plan
from olmctl.migration.plan_output import objects_of, print_documents, print_plan
from olmctl.migration.read import read_olm_v0
from olmctl.migration.removal import Removal, unfinished
from olmctl.migration.steps import Move
from olmctl.migration.undo import Undo, too_late
from olmctl.migration.v0 import OlmV0
from olmctl.migration.values import text
from olmctl.operators.session import on_cluster
from olmctl.questions.session import Session
from olmctl.terminal_output import say
from olmkit.api.meta import Object


@dataclass(frozen=True)
class Request:
    """The packages to move, and how far to go."""

    packages: tuple[str, ...]
    is_all: bool
    stops: bool
    is_held: bool
    removes_sources: bool
    seconds: float


@on_cluster
async def migrate_v0(  # noqa: PLR0913 the options of the command
    session: Session,
    packages: tuple[str, ...],
    is_all: bool,
    dry_run: bool,
    output: str | None,
    catalogs: Sequence[tuple[str, str]],
    stops: bool,
    is_held: bool,
    is_undo: bool,
    removes_sources: bool,
    is_confirmed: bool,
    seconds: float,
) -> int:
    """Move packages from OLM v0 to the suite, or say what would become of everything."""
    if packages and is_all:
        raise click.UsageError("name packages, or use --all")
    if is_undo and not packages:
        raise click.UsageError("--undo needs the name of a package")
    request = Request(packages, is_all, stops, is_held, removes_sources, seconds)
    found = await read_olm_v0(session)
    plan = make_plan(found, dict(catalogs))
    if is_undo:
        return await _undo(session, found, plan, request)
    interrupted = {name: each for name, each in unfinished(found).items() if is_all or name in packages}
    moved_before = {text(each, "spec", "packageName") for each in found.operators}
    selected = _selected(plan, request, {*interrupted, *moved_before})
    if output:
        print_documents(objects_of(plan, selected, with_all_catalogs=not packages), output)
        return 0
    if dry_run or not (packages or is_all):
        print_plan(plan, selected, with_rest=not packages)
        return 0
    moved = [each for each in (movable(plan) if is_all else selected) if each.package not in interrupted]
    _check(plan, moved)
    if not is_confirmed:
        print_plan(plan, selected, with_rest=False)
        confirm("Move these packages?")
        session.time.begin()
    await _move(session, moved, interrupted, request)
    return 0


def _selected(plan: MigrationPlan, request: Request, begun: Collection[str]) -> list[PackagePlan]:
    """The plans of the packages that are named, or all. Raises CommandError for a name that neither OLM v0 knows, nor is one of
    those whose migration has `begun`."""
    if not request.packages:
        return list(plan.packages)
    unknown = [name for name in request.packages if not plan.named(name) and name not in begun]
    if unknown:
        known = ", ".join(sorted({each.package for each in plan.packages})) or "none"
        raise CommandError(
            NOT_FOUND, f"no Subscription of OLM v0 is of package {unknown[0]}: there are those of {known}"
        )
    return [each for each in plan.packages if each.package in request.packages]


def _check(plan: MigrationPlan, moved: Sequence[PackagePlan]) -> None:
    """Raises CommandError if one of them cannot be moved, or not without another one."""
    problems = [
        f"{each.package}: {problem}"
        for each in moved
        for problem in each.problems
        if not is_being_removed(each.version)
    ]
    names = {each.package for each in moved}
    for each in plan.packages:
        for required in each.requires:
            if each.package in names and required not in names:
                problems.append(f"{each.package}: it requires {required}, which OLM v0 has: move it too")
            elif required in names and each.package not in names:
                why = f"OLM v0 would install {required} again for it"
                problems.append(f"{required}: {each.package} requires it, and {why}: move both")
    if problems:
        raise CommandError(REFUSED, "\n".join(problems))


def movable(plan: MigrationPlan) -> list[PackagePlan]:
    """The packages that can be moved, without those that need another one that cannot be, or that such a one needs."""
    moved = [each for each in plan.packages if not each.problems or is_being_removed(each.version)]
    while True:
        names = {each.package for each in moved}
        staying = [each for each in plan.packages if each.package not in names]
        needed = {required for each in staying for required in each.requires}
        kept = [each for each in moved if set(each.requires) <= names and each.package not in needed]
        if len(kept) == len(moved):
            return moved
        moved = kept


async def _move(
    session: Session,
    moved: Sequence[PackagePlan],
    interrupted: Mapping[str, Object],
    request: Request,
) -> None:
    if not moved and not interrupted:
        say("There is nothing to move")
        await start(session)
        return
    try:
        if request.stops:
            await CONTROLLERS.stop(session, request.seconds)
        await CONTROLLERS.require_stopped(session)
        for each in moved:
            session.time.begin()
            if not is_being_removed(each.version):
                await Move(session, each, request.seconds).run()
        if request.is_held:
            commands = " ".join(each.package for each in moved)
            say(f"Held: `olm migrate v0 {commands}` deletes the objects of OLM v0, --undo gives everything back")
            return
        versions = {each.package: each.version for each in moved if each.version is not None}
        for package, version in {**interrupted, **versions}.items():
            session.time.begin()
            current = await read_olm_v0(session)  # what the packages before have left
            await Removal(session, current, package, version, request.seconds, request.removes_sources).run()
    finally:
        await start(session)


async def _has_begun(session: Session, plan: PackagePlan) -> bool:
    """Report whether the migration has begun: the note is written before the mark."""
    return plan.has_begun or (plan.version is not None and await is_noted(session, plan.version))


async def _undo(session: Session, found: OlmV0, plan: MigrationPlan, request: Request) -> int:
    try:
        for name in request.packages:
            plans = [each for each in plan.named(name) if await _has_begun(session, each)]
            if name in unfinished(found):
                raise too_late(name)
            if not plans:
                text_ = f"no migration of package {name} has begun that is not finished: there is nothing to undo"
                raise CommandError(NOT_FOUND, text_)
            if request.stops:
                await CONTROLLERS.stop(session, request.seconds)
            session.time.begin()
            await Undo(session, found, plans[0], request.seconds).run()
    finally:
        await start(session)
    return 0
