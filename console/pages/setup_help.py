"""The first page: the catalog, or where the suite is not installed, how to install it."""

from __future__ import annotations

import functools

from console.access import Ask
from console.page import Answer, Page, PageRequest, Redirect
from console.routes import Handler, Route
from console.views.setup_help import setup_view
from olmkit.api import customresourcedefinitions, operators
from olmkit.api.meta import Kind
from olmkit.errors import ApiError, NotFound

SUBSCRIPTION = Kind("operators.coreos.com", "v1alpha1", "Subscription", "subscriptions", namespaced=True)
CSV = ("operators.coreos.com", "ClusterServiceVersion")
_NOT_SERVED = ("404 page not found", "the server could not find the requested resource")


def on_suite(handler: Handler) -> Handler:
    """The handler of a page about the suite's kinds: where the cluster does not serve them, it leads to the setup help."""

    @functools.wraps(handler)
    async def checked(request: PageRequest) -> Answer:
        try:
            return await handler(request)
        except NotFound as error:
            if error.message.startswith(_NOT_SERVED) and not await is_installed(request):
                return Redirect("/")
            raise

    return checked


async def is_installed(request: PageRequest) -> bool:
    """Report whether the cluster serves the kind Operator."""
    return operators.KIND.group_kind in (await request.session.client.discover()).kinds


async def show(request: PageRequest) -> Answer:
    """The catalog, or the instructions."""
    discovery = await request.session.client.discover()
    if operators.KIND.group_kind in discovery.kinds:
        return Redirect("/catalog")
    verdict = await request.access.may(Ask("create", customresourcedefinitions.KIND))
    v0 = await _subscriptions(request) if CSV in discovery.kinds else None
    options = request.options
    refusal = "" if verdict else verdict.reason
    view = setup_view(options.cluster, options.version, options.context, refusal, verdict.command, v0)
    return Page("setup.html", view, "olm-suite is not installed", scripts=("setup.js",))


async def _subscriptions(request: PageRequest) -> int:
    """The number of Subscriptions of OLM v0; 0 if they may not be listed."""
    try:
        found, _ = await request.session.client.list(SUBSCRIPTION, metadata_only=True)
    except ApiError:
        return 0
    return len(found)


ROUTES = (Route("GET", "/", show),)
