"""Adds the debug server to the manager."""

from __future__ import annotations

from olmkit.runtime.manager import Manager
from olmkit.runtime.probes import DISABLED_ADDRESS
from olmkit.tls.service import OPERATOR_SERVICE
from olmkit.tls.setup import authenticated_serving
from operator_controller.debug.server import AnswerStore, DebugServer


async def serve_resolutions(manager: Manager, store: AnswerStore) -> int | None:
    """Serve the answers of the store on --debug-bind-address; returns the port, None if it is disabled. Raises OlmError."""
    address = manager.settings.extra.debug_bind_address
    if address == DISABLED_ADDRESS:
        return None
    context, authorize = authenticated_serving(manager, OPERATOR_SERVICE)
    server = DebugServer(store, lambda: manager.is_leading)
    manager.on_close(server.close)
    return await server.start(address, context, authorize)
