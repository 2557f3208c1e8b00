"""The answers that Operators have, and which of them another solution changes: `replace(requests, answers, ...) -> names`.

The work is in proportion to the answers that have changed: what is the same object as before is neither compared nor read again.
An Operator gets its answer with those members of its component that matter to it, so that a change of the others changes nothing
for it. Decides nothing, and wakes nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from operator_controller.resolve.answers.answer import Answer, Member, may_require, may_require_more, related_packages
from operator_controller.resolve.snapshot.cluster_snapshot import OperatorRequest

_Flags = tuple[bool, bool, tuple[str, ...]]
"""HeldAnswer: needs_recheck, is_component_settled, outdated_catalogs."""


@dataclass(frozen=True)
class HeldAnswer:
    """The answer to one request. `solved` is the answer as the solver gave it, None if there is none."""

    request: OperatorRequest
    solved: Answer | None = field(compare=False)
    answer: Answer | None
    """`solved` with no other members than its own and those for `related`."""
    related: frozenset[str] = frozenset()
    """The packages whose Operators matter to this one."""
    needs_recheck: bool = False
    is_component_settled: bool = False
    outdated_catalogs: tuple[str, ...] = ()

    @property
    def permits_deletion(self) -> bool:
        """True if nothing requires what runs."""
        return self.answer is not None and not self.related

    def is_same_as(self, other: HeldAnswer | None) -> bool:
        """Report whether both tell the Operator the same, whatever they were computed from."""
        if other is None or self.answer is None or other.answer is None:
            return self == other
        return _without_digest(self.answer) == _without_digest(other.answer) and (
            (self.request, self.flags) == (other.request, other.flags)
        )

    @property
    def flags(self) -> _Flags:
        """The properties of the answer that are not part of its content."""
        return self.needs_recheck, self.is_component_settled, self.outdated_catalogs


def _without_digest(answer: Answer) -> dict[str, Any]:
    return vars(answer) | {"digest": ""}


class HeldAnswers(Mapping[str, HeldAnswer]):
    """By the name of the Operator."""

    def __init__(self) -> None:
        self._held: dict[str, HeldAnswer] = {}
        self._related: dict[str, set[str]] = {}
        """By package: the Operators to which its Operator matters."""

    def __getitem__(self, name: str) -> HeldAnswer:
        return self._held[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def related_operators(self, package: str) -> Collection[str]:
        """The Operators that require the package, or that it requires."""
        return self._related.get(package, ())

    def replace(
        self,
        requests: Mapping[str, OperatorRequest],
        answers: Mapping[str, Answer],
        unsettled_catalogs: Collection[str] = (),
        outdated_catalogs: Collection[str] = (),
        *,
        is_solved: bool = True,
    ) -> list[str]:
        """Hold these answers and no others. Returns the Operators that have a request and for which something has changed.

        `unsettled_catalogs` are those that are read again soon, `outdated_catalogs` those that wait for other content. Answers
        that are not `is_solved` settle no component.
        """
        for name in [name for name in self._held if name not in requests]:
            self._put(name, None)
        return self.update(requests, answers, unsettled_catalogs, outdated_catalogs, is_solved=is_solved)

    def update(
        self,
        requests: Mapping[str, OperatorRequest],
        answers: Mapping[str, Answer],
        unsettled_catalogs: Collection[str] = (),
        outdated_catalogs: Collection[str] = (),
        *,
        is_solved: bool = True,
    ) -> list[str]:
        """Hold these answers, which are those of whole components, beside the others. Otherwise as replace()."""
        components = _Components(answers.values())
        unsettled, outdated = frozenset(unsettled_catalogs), frozenset(outdated_catalogs)
        changed: list[str] = []
        for name, request in requests.items():
            answer, known = answers.get(name), self._held.get(name)
            is_settled = is_solved and answer is not None and components.is_settled(answer, request.held_package)
            is_refused = answer is not None and not answer.is_resolved
            awaited = tuple(sorted(_selected(outdated, request))) if is_refused else ()
            flags = bool(_selected(unsettled, request)), is_settled, awaited
            if known is not None and _is_made_from(known, request, answer, flags):
                continue
            held = _hold(request, answer, components, flags)
            self._put(name, held)
            if not held.is_same_as(known):
                changed.append(name)
        return changed

    def independent(self, answers: Mapping[str, Answer], requests: Mapping[str, OperatorRequest]) -> dict[str, Answer]:
        """Those of the `answers` to a Snapshot that share no package with the held answer of an Operator that has no answer to it
        yet: what was found together before is replaced together. `requests` are all those of the Snapshot."""
        pending = {
            package
            for name, held in self._held.items()
            if name not in answers and name in requests and held.answer is not None
            for package in (held.request.held_package, *held.related, *(each.package for each in held.answer.members))
        }
        found: dict[str, Answer] = {}
        for name, answer in answers.items():
            if pending.isdisjoint((requests[name].held_package, *(each.package for each in answer.members))):
                found[name] = answer
        return found

    def _put(self, name: str, held: HeldAnswer | None) -> None:
        known = self._held.get(name)
        before, after = known.related if known else frozenset[str](), held.related if held else frozenset[str]()
        for package in before - after:
            self._related[package].discard(name)
            if not self._related[package]:
                del self._related[package]
        for package in after - before:
            self._related.setdefault(package, set()).add(name)
        if held is None:
            del self._held[name]
        else:
            self._held[name] = held


def _selected(catalogs: frozenset[str], request: OperatorRequest) -> frozenset[str]:
    """Those that count for the Operator."""
    return catalogs if request.catalogs is None else catalogs.intersection(request.catalogs)


def _is_made_from(known: HeldAnswer, request: OperatorRequest, answer: Answer | None, flags: _Flags) -> bool:
    """Report whether it was made from these values. What is equal and another object counts as something else."""
    is_same = known.request is request and known.solved is answer
    return is_same and known.flags == flags


def _hold(request: OperatorRequest, answer: Answer | None, components: _Components, flags: _Flags) -> HeldAnswer:
    if answer is None:
        return HeldAnswer(request, None, None, frozenset(), *flags)
    members, own = components.members_of(answer), {request.held_package, request.package}
    requiring = own.union(*map(members.requiring, own))
    related = frozenset(related_packages(_limited(answer, members, requiring), request.held_package))
    return HeldAnswer(request, answer, _limited(answer, members, requiring | related), related, *flags)


def _limited(answer: Answer, members: _Members, packages: Collection[str]) -> Answer:
    limited = members.limited_to(packages)
    return answer if limited is answer.members else replace(answer, members=limited)


class _Components:
    """The values that the answers of one component have in common."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._undecided: dict[str, dict[tuple[str, ...], Answer]] = {}
        """By the digest of the component: the answers that may come to require more, one for each value of awaited_deletions."""
        self._members: dict[int, _Members] = {}
        """By the identity of their tuple, which the answers of a component share."""
        for answer in answers:
            if may_require_more(answer):
                self._undecided.setdefault(answer.digest, {}).setdefault(answer.awaited_deletions, answer)

    def is_settled(self, answer: Answer, package: str) -> bool:
        """Report whether no Operator of the component may come to require the package."""
        return not any(may_require(each, package) for each in self._undecided.get(answer.digest, {}).values())

    def members_of(self, answer: Answer) -> _Members:
        """The members of its component."""
        known = self._members.get(id(answer.members))
        if known is None:
            known = self._members[id(answer.members)] = _Members(answer.members)
        return known


class _Members:
    """The members of a component, and those that require a package."""

    def __init__(self, members: tuple[Member, ...]) -> None:
        self._members = members
        self._by_package = {member.package: member for member in members}
        self._requiring: dict[str, list[str]] = {}
        for member in members:
            for package in member.requires:
                self._requiring.setdefault(package, []).append(member.package)

    def requiring(self, package: str) -> Collection[str]:
        """The packages of the members that require it."""
        return self._requiring.get(package, ())

    def limited_to(self, packages: Collection[str]) -> tuple[Member, ...]:
        """The members for these packages, sorted by package as all are."""
        found = [self._by_package[package] for package in sorted(packages) if package in self._by_package]
        return tuple(found) if len(found) < len(self._members) else self._members
