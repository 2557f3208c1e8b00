"""`olm migrate v1`: say what becomes of everything that OLM v1 has, and take it over."""

from __future__ import annotations

import click

from olmctl.commands import NOT_FOUND, REFUSED, CommandError
from olmctl.migration.confirmation import confirm
from olmctl.migration.controller_set import is_running, replicas_before
from olmctl.migration.v1.objects import CONTROLLERS, OlmV1
from olmctl.migration.v1.plan import MigrationPlan, changes_between, make_plan
from olmctl.migration.v1.plan_output import print_plan
from olmctl.migration.v1.read import read_olm_v1
from olmctl.migration.v1.removal import COMMAND, Removal, is_removing, require_not_removing
from olmctl.migration.v1.serving import require_nobody_leads, serve_catalogs, serve_everything
from olmctl.migration.v1.steps import Move
from olmctl.migration.v1.undo import Undo
from olmctl.operators.session import on_cluster
from olmctl.questions.session import Session
from olmctl.terminal_output import say
from olmkit.api.meta import Object


@on_cluster
async def migrate_v1(  # noqa: PLR0913 the options of the command
    session: Session,
    is_all: bool,
    dry_run: bool,
    stops: bool,
    is_held: bool,
    is_undo: bool,
    is_confirmed: bool,
    seconds: float,
) -> int:
    """Take over everything that OLM v1 has, or say what would become of it."""
    if is_all and is_undo:
        raise click.UsageError("use --all, or --undo")
    found = await read_olm_v1(session)
    plan = make_plan(found)
    if dry_run or not (is_all or is_undo):
        print_plan(plan)
        return 0
    if is_undo:
        return await _undo(session, found, plan, seconds, stops=stops)
    is_ending = is_removing(found)
    if not is_ending:
        _check(plan)
    if not is_confirmed:
        print_plan(plan)
        confirm("Move everything of OLM v1?")
        session.time.begin()
    if is_ending:
        await Removal(session, found, plan).run()
        return 0
    await _move(session, plan, seconds, stops=stops, is_held=is_held)
    return 0


def _check(plan: MigrationPlan) -> None:
    """Raises CommandError if something cannot be moved: one controller serves a kind, so that all or nothing is."""
    if plan.all_problems:
        raise CommandError(REFUSED, "\n".join(f"{subject}: {problem}" for subject, problem in plan.all_problems))


async def _move(session: Session, before: MigrationPlan, seconds: float, *, stops: bool, is_held: bool) -> None:
    is_served = False
    try:
        if stops:
            await CONTROLLERS.stop(session, seconds)
        await CONTROLLERS.require_stopped(session)
        await require_nobody_leads(session)
        plan = await _current_plan(session, before)
        is_served = True
        await _take_over(session, plan, seconds)
    except BaseException:
        await _end(session, seconds, is_served=is_served)
        raise
    if is_held:
        say(f"Held: `{COMMAND}` deletes what OLM v1 consists of, `olm migrate v1 --undo` gives everything back")
        return
    session.time.begin()
    found = await read_olm_v1(session)
    await Removal(session, found, make_plan(found)).run()


async def _take_over(session: Session, plan: MigrationPlan, seconds: float) -> None:
    """Have the suite serve the kinds, and take over what is installed. Nothing is taken before everything can be."""
    moves = [Move(session, each, seconds) for each in plan.extensions if each.is_installed]
    if not all(each.plan.is_moved for each in moves):
        await serve_catalogs(session)
    for each in moves:
        session.time.begin()
        await each.check()
    for each in moves:
        session.time.begin()
        await each.run()
    session.time.begin()
    await serve_everything(session)
    for each in moves:
        session.time.begin()
        await each.until_served()


async def _current_plan(session: Session, before: MigrationPlan) -> MigrationPlan:
    """The plan of what OLM v1 has now that its controllers are stopped. Raises CommandError if it is another one."""
    plan = make_plan(await read_olm_v1(session))
    changes = changes_between(before, plan)
    if changes:
        why = f"OLM v1 has changed since the plan was made: {'; '.join(changes)}"
        raise CommandError(REFUSED, f"{why}: nothing more is taken from it; run the command again")
    _check(plan)
    return plan


async def _end(session: Session, seconds: float, *, is_served: bool) -> None:
    """After a failure: have OLM v1 go on if nothing is taken from it, else say what ends the migration."""
    found = await read_olm_v1(session)
    plan = make_plan(found)
    if is_served and not unfinished(plan):
        await Undo(session, found, plan, seconds).run()
    await CONTROLLERS.start(session, lambda _: _held(session))


async def _held(session: Session) -> list[str]:
    return unfinished(make_plan(await read_olm_v1(session)))


def unfinished(plan: MigrationPlan) -> list[str]:
    """A sentence about each ClusterExtension of which something is taken from OLM v1 already."""
    names = [each.name for each in plan.extensions if each.is_begun or each.is_moved]
    end = f"`{COMMAND}` continues, and `olm migrate v1 --undo` gives everything back"
    return [f"the migration of {', '.join(names)} has begun: {end}"] if names else []


async def _undo(session: Session, found: OlmV1, plan: MigrationPlan, seconds: float, *, stops: bool) -> int:
    if not (plan.is_begun or any(map(replicas_before, found.controllers))):
        text = "no migration from OLM v1 has begun that is not finished: there is nothing to undo"
        raise CommandError(NOT_FOUND, text)
    require_not_removing(found)
    if plan.is_begun or not any(
        map(is_running, found.controllers)
    ):  # else an interrupted one has started one of them again
        if stops:
            await CONTROLLERS.stop(session, seconds)
        session.time.begin()
        await Undo(session, found, plan, seconds).run()
    await CONTROLLERS.start(session, _nothing_held)
    return 0


async def _nothing_held(_: list[Object]) -> list[str]:
    return []
