"""`olm diff OPERATOR [VERSION]`: print what another version would change, without installing it.

Both bundles are read from catalogd's summaries: then objects are named, and not shown. With --full their images are pulled.

Ends as `kubectl diff` does: 0 without a difference, 1 with one, above 1 after an error.
"""

from __future__ import annotations

from typing import Any

from olmctl.commands import FAILED, CommandError, OwnStatusError, status_of, warn
from olmctl.operators.bundle_reader import bundle_reader
from olmctl.operators.diff_output import as_value, print_text
from olmctl.operators.output import print_object
from olmctl.operators.session import on_cluster
from olmctl.questions.bundle_summaries import operator_summaries
from olmctl.questions.difference import difference
from olmctl.questions.errors import QuestionError
from olmctl.questions.session import Session
from olmctl.questions.upgrade import version_refusal
from olmctl.terminal import clean
from olmkit.errors import ApiError, OlmError

DIFFERENT, ERROR = 1, 2
"""Exit statuses; others are those of all commands."""


@on_cluster
async def diff(
    session: Session, operator: str, version: str | None, output: str | None, *, full: bool, **options: Any
) -> int:
    """Show what VERSION would change on the cluster if OPERATOR had it; nothing is changed. `full`: the images are pulled."""
    try:
        summaries = None if full else await operator_summaries(session, operator)
        found = await difference(session, operator, version, summaries or bundle_reader(options, session))
        refusal = await version_refusal(session, operator, version) if version else ""
    except (ApiError, QuestionError) as error:
        raise OwnStatusError(max(status_of(error), ERROR), error.message) from error
    except (OlmError, CommandError) as error:
        raise OwnStatusError(max(getattr(error, "status", FAILED), ERROR), str(error)) from error
    if refusal:
        warn(clean(f"olm upgrade refuses this version: {refusal}"))
    if found.refused_request:
        warn(found.refused_request)
    for each in (*found.unread, *(summaries.notes if summaries is not None else ())):
        warn(each)
    if output in ("json", "yaml"):
        print_object(as_value(found, is_full=full), output)
    else:
        print_text(found, is_full=full)
    return DIFFERENT if found.has_changes else 0
