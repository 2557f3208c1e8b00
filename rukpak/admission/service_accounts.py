"""Decides which writes of a ServiceAccount into a ClusterExtension, an Operator or a BundleDeployment are denied.

The API server itself checks that the author may impersonate the account, before and after the change, and asks only about writes
of authors who may not (config/webhook). These are denied, but for three of operator-controller, which may impersonate nobody: it
writes into a BundleDeployment what the Operator has that owns it, into an Operator what the ClusterExtension has that owns it,
and creates the Operators of dependencies with the account of an Operator. All are compared with the owners as the API server has
them. To make a ClusterExtension the owner of an Operator with an account counts as a change of that Operator. Never writes.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from olmkit.admission.review import AdmissionRequest, BadReview, Denial, required_text
from olmkit.api import clusterextensions, operators
from olmkit.api.bundledeployments import BundleDeploymentSpec
from olmkit.api.clusterextensions import ClusterExtension
from olmkit.api.impersonation import Account
from olmkit.api.meta import Object
from olmkit.api.operators import INSTALLED_FOR_LABEL, Operator, OperatorSpec
from olmkit.api.ownership import OPERATOR_CONTROLLER
from olmkit.errors import ApiError, NotFound
from olmkit.runtime.client import Client
from rukpak.admission.deletions import FORBIDDEN, controller_of, operator_of


@dataclass(frozen=True)
class ServiceAccountGuard:
    """Answers on every replica. `system_namespace` is that of operator-controller."""

    client: Client
    system_namespace: str

    async def validate(self, request: AdmissionRequest) -> Denial | None:
        """Explain why the write is denied; None if operator-controller copies what an owner has."""
        if request.obj is None:
            return None
        if request.user != Account(self.system_namespace, OPERATOR_CONTROLLER).user:
            return _denial(request)
        try:
            match required_text(request.obj, "kind"):
                case clusterextensions.KIND.kind:
                    return _denial(request)
                case operators.KIND.kind:
                    return await self._operator_denial(request, request.obj)
                case _:
                    return await self._copy_denial(request.obj)
        except ApiError as error:
            return Denial(FORBIDDEN, f"the owner cannot be read: {error.message}")

    async def _copy_denial(self, deployment: Object) -> Denial | None:
        """Explain why a BundleDeployment does not have the account of its Operator; None if it has. Raises ApiError."""
        owner, account = operator_of(deployment), account_of(deployment)
        if owner is not None:
            try:
                operator = Operator.load(await self.client.get(operators.KIND, owner["name"]))
            except NotFound:
                operator = None
            if operator is not None and operator.metadata.uid == owner["uid"] and _account(operator) == account:
                return None
        return Denial(FORBIDDEN, f"no Operator that owns the BundleDeployment installs as {account or 'rukpak'}")

    async def _operator_denial(self, request: AdmissionRequest, operator: Object) -> Denial | None:
        """Explain why an Operator is not written; None if it has the account of its ClusterExtension, or is a dependency. Raises
        ApiError."""
        owner = controller_of(operator, clusterextensions.KIND)
        if owner is None:
            return await self._dependency_denial(request, operator)
        account = account_of(operator)
        try:
            found = await self.client.get(clusterextensions.KIND, owner["name"])
        except NotFound:
            found = None
        if found is not None and found["metadata"]["uid"] == owner["uid"] and account_of(found) == account:
            return None
        return Denial(FORBIDDEN, f"no ClusterExtension that owns the Operator installs as {account or 'rukpak'}")

    async def _dependency_denial(self, request: AdmissionRequest, operator: Object) -> Denial | None:
        """Explain why an Operator is not created; None if it is a dependency, and another Operator has its account. Raises
        ApiError."""
        account = account_of(operator)
        is_dependency = INSTALLED_FOR_LABEL in (operator["metadata"].get("labels") or {})
        if request.old is None and is_dependency:
            async for objects, _ in self.client.pages(operators.KIND):
                if any(_account(Operator.load(each)) == account for each in objects):
                    return None
        return Denial(FORBIDDEN, f"no other Operator installs as {account}")


def account_of(obj: Object) -> Account | None:
    """The account of a ClusterExtension, an Operator or a BundleDeployment; None if it names none. Raises BadReview if that
    cannot be read."""
    try:
        match required_text(obj, "kind"):
            case clusterextensions.KIND.kind:
                return _account_of_extension(ClusterExtension.load(obj))
            case operators.KIND.kind:
                install = OperatorSpec.load(obj.get("spec")).install
                return install.account() if install is not None else None
            case _:
                return BundleDeploymentSpec.load(obj.get("spec")).account()
    except ValueError as error:
        raise BadReview("the spec cannot be read") from error


def _account_of_extension(extension: ClusterExtension) -> Account | None:
    """A value that cannot be read names no account: operator-controller does not use it either."""
    with suppress(ValueError):
        return extension.account()
    return None


def _account(operator: Operator) -> Account | None:
    return operator.spec.install.account() if operator.spec.install is not None else None


def _denial(request: AdmissionRequest) -> Denial:
    """The denial of an author who may not impersonate one of the accounts."""
    found = {account_of(each) for each in (request.old, request.obj) if each is not None} - {None}
    named = " and ".join(sorted(map(str, found)))
    text = (
        f"{request.user} may not impersonate {named}, which is required to write a spec that is installed as that account: it "
        "takes the verb impersonate on the resource serviceaccounts"
    )
    return Denial(FORBIDDEN, text)
