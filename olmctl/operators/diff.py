"""`olm diff OPERATOR [VERSION]`: print what another version would change, without installing it.

Ends as `kubectl diff` does: 0 without a difference, 1 with one, above 1 after an error.
"""

from __future__ import annotations

from typing import Any

from olmctl.commands import FAILED, CommandError, status_of, warn
from olmctl.operators.bundle_reader import bundle_reader
from olmctl.operators.diff_output import as_value, print_text
from olmctl.operators.output import print_object
from olmctl.operators.session import on_cluster
from olmctl.questions.difference import difference
from olmctl.questions.errors import QuestionError
from olmctl.questions.session import Session
from olmkit.errors import ApiError, OlmError

DIFFERENT, ERROR = 1, 2
"""Exit statuses; others are those of all commands."""


@on_cluster
async def diff(session: Session, operator: str, version: str | None, output: str | None, **options: Any) -> int:
    """Show what VERSION would change on the cluster if OPERATOR had it; nothing is changed."""
    try:
        found = await difference(session, operator, version, bundle_reader(options))
    except (ApiError, QuestionError) as error:
        raise CommandError(max(status_of(error), ERROR), error.message) from error
    except (OlmError, CommandError) as error:
        raise CommandError(max(getattr(error, "status", FAILED), ERROR), str(error)) from error
    for each in found.unread:
        warn(each)
    if output in ("json", "yaml"):
        print_object(as_value(found), output)
    else:
        print_text(found)
    return DIFFERENT if found.has_changes else 0
