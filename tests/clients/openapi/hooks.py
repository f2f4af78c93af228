"""Changes of the requests that Schemathesis makes, loaded by tests/clients/openapi/run."""

import re
import uuid

import schemathesis
from schemathesis.core.parameters import ParameterLocation

HEADER = "BT-IDEMPOTENCY-KEY"
VALID = re.compile(r"[!-~]{1,255}")


@schemathesis.hook
def before_call(context, case, kwargs):
    """Gives each request an idempotency key of its own.

    Schemathesis sends the same key with many bodies. The server answers all of them with the first
    answer, as documented, so that none of the later bodies would be tested.
    """
    if not has_wrong_header(case) and VALID.fullmatch(str((case.headers or {}).get(HEADER, ""))):
        case.headers[HEADER] = str(uuid.uuid4())


def has_wrong_header(case):
    """True if a header is wrong or left out on purpose.

    After a change of its headers, Schemathesis takes such a request for a right one and adds the API
    key that it left out.
    """
    meta = case.meta
    return (
        meta is not None
        and meta.generation.mode.is_negative
        and meta.phase.data.parameter_location == ParameterLocation.HEADER
    )
