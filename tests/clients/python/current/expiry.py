"""Expiry: every form that is taken, and what it does."""

from datetime import timedelta

from basis_theory.errors import BadRequestError, NotFoundError

from clients import private
from harness import CARD, advance_clock, check, equal, fresh, raises

FORMS = [
    ("2040-08-26T19:23:57Z", "2040-08-26T19:23:57+00:00"),
    ("2040-08-26T19:23:57.5Z", "2040-08-26T19:23:57.500000+00:00"),
    ("2040-08-26T19:23:57.1234567-07:00", "2040-08-27T02:23:57.123456+00:00"),
    ("2040-08-26T19:23:57", "2040-08-26T19:23:57+00:00"),
    ("2040-08-26T19:23-07:00", "2040-08-27T02:23:00+00:00"),
    ("2040-08-26", "2040-08-26T00:00:00+00:00"),
    ("20400826T192357Z", "2040-08-26T19:23:57+00:00"),
    ("8/26/2040", "2040-08-26T00:00:00+00:00"),
    ("08/26/2040", "2040-08-26T00:00:00+00:00"),
    ("8/26/2040 7:23:57 PM -07:00", "2040-08-27T02:23:57+00:00"),
    ("8/26/2040 12:00:00 AM +00:00", "2040-08-26T00:00:00+00:00"),
]


@check
def every_form_of_an_expiry_is_taken():
    for given, expected in FORMS:
        created = private.tokens.create(type="token", data=1, expires_at=given)
        equal((given, created.expires_at.isoformat()), (given, expected))
        equal(private.tokens.get(created.id).expires_at.isoformat(), expected)


@check
def an_expiry_that_is_none_or_past_is_refused():
    for given in ["soon", "", "2040-13-01", "2/30/2040", "2020-01-01T00:00:00Z", "1/1/2020"]:
        with raises(BadRequestError, 400) as caught:
            private.tokens.create(type="token", data=1, expires_at=given)
        equal(list(caught[0].body.errors), ["expires_at"])


@check
def an_expiry_can_be_changed_and_taken_away():
    created = private.tokens.create(type="token", data=1, expires_at="1/1/2040")
    updated = private.tokens.update(created.id, expires_at="2041-02-03T04:05:06Z")
    equal(updated.expires_at.isoformat(), "2041-02-03T04:05:06+00:00")
    equal(private.tokens.update(created.id, expires_at=None).expires_at, None)
    equal(private.tokens.get(created.id).expires_at, None)


@check
def an_expired_token_is_gone_and_a_verification_code_goes_first():
    wanted = fresh("id")
    card = private.tokens.create(type="card", data=CARD)
    in_two_hours = (card.created_at + timedelta(hours=2)).isoformat()
    private.tokens.create(id=wanted, type="token", data=1, expires_at=in_two_hours)
    equal(private.tokens.get(card.id).data["cvc"], "123")
    advance_clock(3700)
    left = {name: value for name, value in CARD.items() if name != "cvc"}
    equal(private.tokens.get(card.id).data, left)
    equal(private.tokens.get(wanted).data, 1)
    advance_clock(3700)
    with raises(NotFoundError, 404):
        private.tokens.get(wanted)
    # A name that expired is free again.
    private.tokens.create(id=wanted, type="token", data=2)
