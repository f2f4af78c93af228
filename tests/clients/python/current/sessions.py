"""Sessions of public applications, and client encryption keys."""

import re

from basis_theory.errors import ConflictError, ForbiddenError, NotFoundError, UnauthorizedError

from clients import client_of, management, private, public
from harness import UUID, check, equal, fresh, matches, raises


@check
def a_session_is_made_authorized_and_used():
    token = private.tokens.create(type="token", data="mine", id=fresh())
    other = private.tokens.create(type="token", data="another", id=fresh())
    session = public.sessions.create()
    matches(re.compile(r"^[1-9A-HJ-NP-Za-km-z]{22}$"), session.nonce)
    assert session.expires_at is not None
    page = client_of(session.session_key)
    with raises(UnauthorizedError, 401):
        page.tokens.get(token.id)
    condition = {"attribute": "id", "operator": "equals", "value": token.id}
    rule = {"priority": 1, "transform": "reveal", "permissions": ["token:read"],
            "conditions": [condition]}
    equal(private.sessions.authorize(nonce=session.nonce, rules=[rule]), None)
    equal(page.tokens.get(token.id).data, "mine")
    with raises(ForbiddenError, 403):
        page.tokens.get(other.id)
    with raises(ForbiddenError, 403):
        page.tokens.delete(token.id)
    with raises(ConflictError, 409):
        private.sessions.authorize(nonce=session.nonce, permissions=["token:read"])


@check
def a_client_encryption_key_is_made_read_listed_and_deleted():
    made = management.keys.create()
    matches(UUID, made.key_id)
    assert made.public_key_pem.startswith("-----BEGIN PUBLIC KEY-----\n")
    read = management.keys.get(made.key_id)
    equal((read.key_id, read.expires_at), (made.key_id, made.expires_at))
    assert made.key_id in [key.key_id for key in management.keys.list()]
    management.keys.delete(made.key_id)
    with raises(NotFoundError, 404):
        management.keys.get(made.key_id)
