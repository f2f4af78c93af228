"""Token intents: made, read, converted, deleted."""

from datetime import timedelta

from basis_theory.errors import BadRequestError, NotFoundError

from clients import private, public
from harness import CARD, FINGERPRINT, UUID, check, equal, matches, raises, server


@check
def an_intent_is_made_read_and_deleted():
    created = public.token_intents.create(type="card", data=CARD)
    matches(UUID, created.id)
    matches(FINGERPRINT, created.fingerprint)
    equal((created.type, created.tenant_id), ("card", server.tenant_id))
    equal((created.card.bin, created.card.last4, created.card.brand), ("42424242", "4242", "visa"))
    equal(created.expires_at - created.created_at, timedelta(hours=24))
    read = private.token_intents.get(created.id)
    equal((read.id, read.fingerprint, read.card), (created.id, created.fingerprint, created.card))
    equal(private.token_intents.delete(created.id), None)
    with raises(NotFoundError, 404):
        private.token_intents.get(created.id)


@check
def a_conversion_consumes_the_intent_and_drops_the_verification_code():
    intent = public.token_intents.create(type="card", data={**CARD, "number": "6011000990139424"})
    token = private.tokens.create(token_intent_id=intent.id, metadata={"from": "intent"})
    equal((token.type, token.fingerprint, token.metadata),
          ("card", intent.fingerprint, {"from": "intent"}))
    equal(private.tokens.get(token.id).data,
          {"number": "6011000990139424", "expiration_month": 12, "expiration_year": 2030})
    with raises(NotFoundError, 404):
        private.token_intents.get(intent.id)
    with raises(BadRequestError, 400) as caught:
        private.tokens.create(token_intent_id=intent.id)
    assert "token_intent_id" in caught[0].body.errors
