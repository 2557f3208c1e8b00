"""Installations without an Operator: BundleDeployments of a package that nothing owns.

`kubectl delete --cascade=orphan` of an Operator leaves one, so does a backup that is restored without Operators, and `olm bundle
run` makes one. A command that shows Operators, or is given the name of one, says what is installed, and the command that takes it
over or removes it. Changes nothing. To a user who may not read BundleDeployments nothing is said about them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from olmctl.questions.errors import NothingFound
from olmctl.questions.extensions import operator_of, waiting_extension
from olmctl.questions.operator_state import condition, is_observed, is_terminating, is_true, part, text_at
from olmctl.questions.own_fields import FIELD_MANAGER
from olmctl.questions.packages import package_objects
from olmctl.questions.session import Session
from olmctl.terminal import clean
from olmkit.api import bundledeployments
from olmkit.api.bundle_annotations import PACKAGE_ANNOTATION
from olmkit.api.bundledeployment_status import RevisionOutcome
from olmkit.api.bundledeployments import ConditionType, Reason
from olmkit.api.install_policies import ON_FAILURE
from olmkit.api.meta import Object, controlling_owner
from olmkit.api.ownership import OPERATOR_CONTROLLER, has_applied
from olmkit.errors import ApiError, NotFound

DEPLOYMENT_RESOURCE = f"{bundledeployments.KIND.plural}.{bundledeployments.KIND.group}"
"""The name of BundleDeployments for kubectl."""


OPTIONS = {
    "adoptionPolicy": "--adoption-policy IfUnowned",
    "crdUpgradeSafety.ignoredRules": "--ignore-crd-rule RULE",
}
"""A field of spec that would permit what is refused -> the option of `olm` that sets it."""


def permitting_options(deployment: Object | None) -> str:
    """The options that permit what is refused of a BundleDeployment; "" if none do."""
    fields = part(deployment or {}, "status", "permittedBy") or ()
    return " ".join(OPTIONS[each] for each in fields if each in OPTIONS)


RETRIED = "tries the failed bundle again without a rollback"
"""The effect of retry_command()."""
_KEPT_CAUSES = (Reason.WAITING_FOR_SERVICE_ACCOUNT, Reason.INVALID_CONFIGURATION)
"""Reasons that name a setting, which `olm bundle upgrade` keeps."""


@dataclass(frozen=True)
class WayBack:
    """An earlier bundle of a BundleDeployment, and how to return to it."""

    name: str
    image: str
    """Empty for what was uploaded from a directory."""
    upload: str = ""
    """The Bundle that still has the files of that directory; "" if none is known to."""
    is_replaced: bool = False
    """True if another bundle, or the same with other settings, was installed after it, of which it is no upgrade."""
    is_setting: bool = False
    """True if settings have changed since, which `olm bundle upgrade` keeps and `olm bundle run` sets anew."""

    def command(self, deployment: str) -> str:
        """The command that returns to it."""
        bundle = shlex.quote(self.image) if self.image else "DIRECTORY"
        if self.is_setting:
            return f"olm bundle run {bundle} --name {deployment}"
        return f"olm bundle upgrade {bundle} --name {deployment}{' --force' if self.is_replaced else ''}"

    @property
    def effect(self) -> str:
        """The words that follow the command."""
        options = "with the earlier options " * self.is_setting
        files = "" if self.image else ", with its files in DIRECTORY"
        kept = f" (olm bundle content {self.upload} -o DIRECTORY)" if self.upload else ""
        return f"{options}returns to {self.name}{files}{kept}"


def way_back(deployment: Object | None, asked: Any) -> WayBack | None:
    """The way back from a bundle with the source `asked`: the same bundle with the settings before, if it had succeeded with
    them; else what is installed if that is another one, else the last revision that had succeeded with another one. None if there
    is none."""
    found = deployment or {}
    installed = part(found, "status", "installed")
    history = part(found, "status", "history") or ()
    succeeded = [each for each in history if text_at(each, "outcome") == RevisionOutcome.SUCCEEDED]
    for each in succeeded[:1]:
        if installed is not None and _bundle(each) == _bundle(installed) == _bundle({"spec": {"source": asked}}):
            return replace(_way_back(each, asked), is_replaced=part(each, "spec", "source") == asked, is_setting=True)
    is_setting = any(each.get("reason") in _KEPT_CAUSES for each in part(found, "status", "conditions") or ())
    is_replaced = installed is not None
    if installed is not None and part(installed, "spec", "source") != asked:
        succeeded, is_replaced = [installed], False
    for each in succeeded:
        if part(each, "spec", "source") != asked:
            back = _way_back(each, asked)
            upload = text_at(each, "bundle") if each is installed and not back.image else ""
            is_setting = is_setting or back.is_setting
            return replace(back, upload=upload, is_replaced=is_replaced, is_setting=is_setting)
    return None


def is_rolled_back(deployment: Object) -> bool:
    """Report whether what is asked for has failed and is not tried again as it is: what ran before is, or was, brought back."""
    reason = text_at(condition(deployment, ConditionType.READY), "reason")
    return reason in (Reason.ROLLING_BACK, Reason.ROLLED_BACK) and is_observed(deployment)


def pending_rollback(deployment: Object | None) -> str:
    """The sentence about the rollback that rukpak makes by itself if the revision that is being installed does not become
    healthy; "" if it makes none."""
    spec = part(deployment or {}, "spec") or {}
    history = part(deployment or {}, "status", "history") or ()
    newest = next(iter(history), None)
    good = next((each for each in history if text_at(each, "outcome") == RevisionOutcome.SUCCEEDED), None)
    is_tried = text_at(newest, "outcome") == RevisionOutcome.IN_PROGRESS
    if text_at(spec, "rollback") != ON_FAILURE or not is_tried or good is None:
        return ""
    deadline = text_at(spec, "progressDeadline")
    within = deadline or "the deadline of its kinds, 10m for most (--progress-deadline sets another one)"
    return f"rukpak returns to {text_at(good, 'name') or 'the version before'} by itself unless it is healthy within {within}"


def retry_command(deployment: str, bundle: str) -> str:
    """The command that tries a bundle again after its rollback: with another option it is another request."""
    return f"olm bundle upgrade {bundle} --name {deployment} --rollback Never"


def _way_back(record: Object, asked: Any) -> WayBack:
    image, secret = text_at(record, "spec", "source", "image", "ref"), text_at(asked, "image", "pullSecret")
    is_setting = bool(secret) and secret != text_at(record, "spec", "source", "image", "pullSecret")
    return WayBack(text_at(record, "name") or "the earlier bundle", image, is_setting=is_setting)


def _bundle(record: Object) -> Any:
    """The source of a bundle without the login, which does not change what it has."""
    source = part(record, "spec", "source") or {}
    image = {key: value for key, value in (source.get("image") or {}).items() if key != "pullSecret"}
    return {**source, "image": image}


@dataclass(frozen=True)
class LeftInstallation:
    """A BundleDeployment that nothing owns, of a package or of none."""

    deployment: Object
    is_offered: bool = True
    """False if no catalog has the package: an Operator of it could install nothing."""

    @property
    def name(self) -> str:
        """The name of the BundleDeployment, which the Operator that takes it over has to have."""
        return text_at(self.deployment, "metadata", "name")

    @property
    def package(self) -> str:
        """The package; "" if the BundleDeployment is of none."""
        return text_at(self.deployment, "spec", "template", "metadata", "annotations", PACKAGE_ANNOTATION)

    @property
    def is_left(self) -> bool:
        """True if it is of a package and stays, so that an Operator can take it over."""
        return bool(self.package) and not is_terminating(self.deployment)

    @property
    def is_taken_over(self) -> bool:
        """True if an Operator of its name and package takes it over without a request: operator-controller has made it."""
        return bool(self.package) and has_applied(self.deployment, OPERATOR_CONTROLLER, "f:spec", "f:template")

    @property
    def is_run(self) -> bool:
        """True if `olm bundle run` has made it: labels and annotations are copied, but a copy has not been applied."""
        return has_applied(self.deployment, FIELD_MANAGER, "f:spec", "f:template")

    @property
    def command(self) -> str:
        """The command that has an Operator take it over."""
        name = f" --name {self.name}" if self.name != self.package else ""
        return f"olm install {shlex.quote(self.package)}{name}{'' if self.is_taken_over else ' --adopt'}"

    @property
    def _return(self) -> str:
        """The command that brings back an earlier bundle, for a sentence, while the one that is asked for is not Ready; "" if
        there is none. What runs, with its data, is then not to be removed."""
        asked = part(self.deployment, "spec", "template", "spec", "source")
        is_pending = self.is_run and not is_true(self.deployment, "Ready")
        back = way_back(self.deployment, asked) if is_pending else None
        return f"`{back.command(self.name)}` {back.effect}" if back is not None else ""

    @property
    def _permission(self) -> str:
        """The command that permits what is refused; "" if there is none."""
        options = permitting_options(self.deployment)
        return f"olm bundle upgrade {self._bundle} --name {self.name} {options}" if options else ""

    @property
    def _bundle(self) -> str:
        """The bundle that is asked for, as an argument of a command."""
        return shlex.quote(
            text_at(self.deployment, "spec", "template", "spec", "source", "image", "ref") or "DIRECTORY"
        )

    @property
    def sentence(self) -> str:
        """The sentence that describes it and names the commands for it."""
        version = text_at(self.deployment, "status", "installed", "version")
        what = " ".join(filter(None, ("package" * bool(self.package), self.package, version)))
        state = f"keeps {what} installed without an Operator" if version else f"of {what} has no Operator"
        removal = [f"`olm bundle cleanup {self.name}` removes it"] * self.is_run
        ways = [self._return] if self._return else removal
        ways += [f"`{self.command}` takes it over"] * (bool(self.package) and self.is_offered)
        if is_terminating(self.deployment):
            ways = ["it is being deleted"]
        text = ": ".join(filter(None, (state if self.package else "has no Operator", ", and ".join(ways))))
        return clean(f"BundleDeployment {self.name} {text}")

    @property
    def next_steps(self) -> str:
        """The commands for its state, which are those of the sentence unless it needs a person. While an upgrade is refused, that
        is none that removes what runs; and an Operator of a bundle that is refused would help as little."""
        if self.is_run and not is_terminating(self.deployment):
            if pending := pending_rollback(self.deployment):
                return clean(pending)
            if text_at(condition(self.deployment, "Ready"), "reason") == Reason.OPERATOR_CONDITION_NOT_UPGRADEABLE:
                forced = (
                    f"`olm bundle upgrade {self._bundle} --name {self.name} --force` overrides the OperatorCondition"
                )
                return clean(", and ".join(filter(None, (forced, self._return))))
        if is_terminating(self.deployment) or not (self.is_run and is_true(self.deployment, ConditionType.STALLED)):
            return self.sentence.partition(": ")[2]
        steps = [f"`{self._permission}` permits what is refused"] * bool(self._permission)
        if is_rolled_back(self.deployment):
            steps.append(f"`{retry_command(self.name, self._bundle)}` {RETRIED}")
        if steps or self._return:
            steps += [self._return] if self._return else [f"`olm bundle cleanup {self.name}` removes it"]
            return clean(", and ".join(steps))
        again = "`olm bundle run` with another bundle or other options changes it"
        return clean(f"{again}, and `olm bundle cleanup {self.name}` removes it")

    @property
    def operator(self) -> Object:
        """The installation as the status of an Operator of the package would report it."""
        recorded = part(self.deployment, "status", "installed")
        installed = {key: text_at(recorded, key) for key in ("name", "version", "catalog", "channel")}
        return {
            "metadata": {"name": self.name},
            "spec": {"packageName": self.package},
            "status": {"installed": installed} if recorded else {},
        }


async def left_installations(session: Session) -> list[LeftInstallation]:
    """All of packages, by name; none if the user may not list BundleDeployments."""
    return [each for each in await unowned_installations(session) if each.is_left]


async def unowned_installations(session: Session) -> list[LeftInstallation]:
    """All of them by name, also of no package; none if the user may not list BundleDeployments."""
    try:
        listed, _ = await session.client.list(bundledeployments.KIND)
    except ApiError:
        return []
    found = (LeftInstallation(each) for each in listed if controlling_owner(each) is None)
    return sorted(found, key=lambda each: each.name)


async def unowned_installation(session: Session, name: str) -> LeftInstallation | None:
    """The one of that name, also of no package; None if there is none, or if the user may not read it."""
    try:
        found = LeftInstallation(await session.client.get(bundledeployments.KIND, name))
    except ApiError:
        return None
    if controlling_owner(found.deployment) is not None:
        return None
    return replace(found, is_offered=await _is_offered(session, found)) if found.is_run else found


async def _is_offered(session: Session, found: LeftInstallation) -> bool:
    """Report whether a catalog has its package; True if that is not known."""
    try:
        return bool(await package_objects(session, found.package))
    except ApiError:
        return True


def with_left(operators: Mapping[str, Sequence[Object]], left: Iterable[LeftInstallation]) -> dict[str, list[Object]]:
    """The Operators by package, and what is installed without one as if an Operator reported it."""
    found = {package: list(known) for package, known in operators.items()}
    for each in left:
        found.setdefault(each.package, []).append(each.operator)
    return found


async def operator_named(session: Session, name: str) -> Object:
    """The Operator of that name, or of the ClusterExtension of that name. Raises NotFound; NothingFound if it has left what it
    had installed, or is not created yet."""
    try:
        return await operator_of(session, name)
    except NotFound as error:
        left = await unowned_installation(session, name)
        if left is None or not (left.package or left.is_run):
            if (extension := await waiting_extension(session, name)) is not None:
                raise NothingFound(extension.sentence) from error
            raise
        raise NothingFound(f"there is no Operator {name}, but {left.sentence}") from error
