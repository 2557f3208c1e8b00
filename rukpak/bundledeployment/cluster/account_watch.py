"""Watches the ServiceAccounts as which BundleDeployments are installed: each by its name, as metadata alone.

Reports only whether they exist. Never reads a token, and never writes.
"""

from __future__ import annotations

from collections.abc import Callable

from olmkit.api.impersonation import Account
from olmkit.api.meta import Kind, Object
from olmkit.runtime.informer import Change, Informer
from rukpak.bundledeployment.cluster.inventory import InformerFactory
from rukpak.bundledeployment.cluster.shared_watches import SharedWatches

SERVICE_ACCOUNTS = Kind("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)


class AccountWatch:
    """The accounts of all BundleDeployments. `changed` is called with the name of the BundleDeployment."""

    def __init__(self, informers: InformerFactory, changed: Callable[[str], None]) -> None:
        self._informers = informers
        self._changed = changed
        self._watches = SharedWatches(informers, self._start)

    async def exists(self, name: str, account: Account | None) -> bool | None:
        """Report whether the account of a BundleDeployment exists; None while that is not known. Watches it, and no other one."""
        watched = await self._watches.watch(name, [account] if account is not None else ())
        if account is None:
            return True
        informer = watched[account]
        return informer.get(account.name, account.namespace) is not None if informer.synced.is_set() else None

    async def forget(self, name: str) -> None:
        """The BundleDeployment is deleted."""
        await self._watches.forget(name)

    def _start(self, account: Account) -> Informer:
        informer = self._informers.informer(
            SERVICE_ACCOUNTS,
            namespace=account.namespace,
            field_selector=f"metadata.name={account.name}",
            metadata_only=True,
            transform=_identity,
        )

        def on_change(change: Change) -> None:
            """Handle a creation or a deletion. The first list may come after the pass that waits for it."""
            if (change.old is None) != (change.new is None):
                for name in self._watches.names_of(account):
                    self._changed(name)

        informer.subscribe(on_change)
        return informer


def _identity(obj: Object) -> Object:
    """The name of an account, which is all that is kept."""
    return {"metadata": {name: obj["metadata"][name] for name in ("name", "namespace", "uid", "resourceVersion")}}
