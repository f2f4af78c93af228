"""Tokens of every type: stored, read, changed and deleted."""

from basis_theory import Privacy
from basis_theory.errors import NotFoundError

from clients import client_with, private
from harness import CARD, FINGERPRINT, UUID, check, equal, fresh, matches, raises, server

# Type, data, default container, default fingerprint expression.
TYPES = [
    ("bank", {"routing_number": "021000021", "account_number": "00001"}, "/bank/high/",
     "{{ data.account_number }}|{{ data.routing_number }}"),
    ("card", CARD, "/pci/high/", "{{ data.number }}"),
    ("card_number", "36227206271667", "/pci/high/", "{{ data }}"),
    ("employer_id_number", "12-3456789", "/pii/high/", "{{ data | remove: '-' }}"),
    ("network_token", {"number": "4242424242424242", "expiration_month": 1,
                       "expiration_year": 2031}, "/pci/high/", "{{ data.number }}"),
    ("social_security_number", "123-45-6789", "/pii/high/", "{{ data | remove: '-' }}"),
    ("token", {"any": ["shape", 1, 2.5, True, None, {"of": "value"}]}, "/general/high/",
     "{{ data | stringify }}"),
    ("us_bank_account_number", "00001234567", "/bank/high/", "{{ data }}"),
    ("us_bank_routing_number", "021000021", "/bank/low/", "{{ data }}"),
]


@check
def a_token_of_every_type_is_stored_read_and_deleted():
    for kind, data, container, expression in TYPES:
        created = private.tokens.create(type=kind, data=data)
        matches(UUID, created.id)
        equal(created.type, kind)
        equal(created.tenant_id, server.tenant_id)
        equal(created.containers, [container])
        equal(created.fingerprint_expression, expression)
        matches(FINGERPRINT, created.fingerprint)
        matches(UUID, created.created_by)
        assert created.created_at.tzinfo is not None
        assert created.modified_at is None and created.modified_by is None
        read = private.tokens.get(created.id)
        equal(read.data, data)
        equal(read.fingerprint, created.fingerprint)
        equal(read.created_at, created.created_at)
        equal(private.tokens.delete(created.id), None)
        with raises(NotFoundError, 404):
            private.tokens.get(created.id)


@check
def primitives_and_nested_values_come_back_as_they_came():
    odd = "\u00e9\u2028\U0001f512\\\""
    for data in ["", "text", odd, 7, 0, -1.25, True, False, [], {}, [1, [2, {"a": "b"}]]]:
        created = private.tokens.create(type="token", data=data)
        equal(private.tokens.get(created.id).data, data)


@check
def a_card_carries_its_details():
    card = private.tokens.create(type="card", data=CARD).card
    equal((card.bin, card.last4), ("42424242", "4242"))
    equal((card.brand, card.funding), ("visa", "credit"))
    equal((card.expiration_month, card.expiration_year), (12, 2030))
    number = private.tokens.create(type="card_number", data="378282246310005").card
    equal((number.bin, number.brand), ("378282", "american-express"))


@check
def a_bank_account_carries_its_details():
    data = {"routing_number": "021000021", "account_number": "123456789"}
    bank = private.tokens.create(type="bank", data=data).bank
    equal((bank.routing_number, bank.account_number_last4), ("021000021", "6789"))


@check
def a_card_request_as_programs_write_it_is_taken():
    # A comma for the pipe in a mask, a mask of the code, a number as an index, a code as a number.
    created = private.tokens.create(
        type="card",
        data={"number": "6011000990139424", "expiration_month": 4, "expiration_year": 2025,
              "cvc": 123},
        metadata={"customer_id": "3181"},
        search_indexes=["{{ data.expiration_month }}", "{{ data.number | last4 }}"],
        fingerprint_expression="{{ data.number }}",
        mask={"number": "{{ data.number, reveal_last: 4 }}", "cvc": "{{ data.cvc }}"},
        deduplicate_token=False,
        containers=["/pci/high/"],
    )
    equal(private.tokens.get(created.id).data["number"], "6011000990139424")


@check
def everything_that_can_be_given_comes_back():
    created = private.tokens.create(
        type="token",
        data={"name": fresh(), "note": "plain"},
        mask={"note": "{{ data.note }}"},
        containers=["/General/Low/"],
        metadata={"customer": "1234", "empty": ""},
        search_indexes=["{{ data.name }}", "{{ data.note | upcase }}"],
        fingerprint_expression="{{ data.name }}",
        expires_at="2040-01-01T00:00:00Z",
        privacy=Privacy(classification="general", impact_level="low"),
    )
    for token in [created, private.tokens.get(created.id)]:
        equal(token.mask, {"note": "{{ data.note }}"})
        equal(token.containers, ["/general/low/"])
        equal(token.metadata, {"customer": "1234", "empty": ""})
        equal(token.search_indexes, ["{{ data.name }}", "{{ data.note | upcase }}"])
        equal(token.fingerprint_expression, "{{ data.name }}")
        equal(token.expires_at.isoformat(), "2040-01-01T00:00:00+00:00")
        equal((token.privacy.classification, token.privacy.impact_level), ("general", "low"))
    equal(created.extras.deduplicated, False)


@check
def a_merge_patch_changes_what_it_names_and_null_takes_away():
    created = private.tokens.create(
        type="token", data={"a": 1, "b": {"c": 2, "d": 3}}, metadata={"keep": "1", "drop": "2"}
    )
    patch = {"b": {"c": None, "e": 4}}
    updated = private.tokens.update(
        created.id, data=patch, metadata={"drop": None, "add": "3"}, containers=["/general/low/"]
    )
    equal(updated.id, created.id)
    equal(updated.metadata, {"keep": "1", "add": "3"})
    matches(UUID, updated.modified_by)
    assert updated.modified_at >= created.created_at
    read = private.tokens.get(created.id)
    equal(read.data, {"a": 1, "b": {"d": 3, "e": 4}})
    equal(read.metadata, {"keep": "1", "add": "3"})
    equal(read.containers, ["/general/low/"])


@check
def an_expression_and_indexes_can_be_changed():
    created = private.tokens.create(type="token", data={"one": fresh(), "two": fresh()})
    updated = private.tokens.update(
        created.id,
        fingerprint_expression="{{ data.two }}",
        search_indexes=["{{ data.one }}"],
        mask={"one": "{{ data.one | reveal_last: 2 }}"},
        expires_at="1/1/2041",
    )
    equal(updated.fingerprint_expression, "{{ data.two }}")
    assert updated.fingerprint != created.fingerprint
    equal(updated.search_indexes, ["{{ data.one }}"])
    equal(updated.expires_at.isoformat(), "2041-01-01T00:00:00+00:00")
    equal(private.tokens.update(created.id, expires_at=None).expires_at, None)


@check
def a_redacted_read_shows_no_data():
    rule = {"priority": 1, "container": "/", "transform": "redact", "permissions": ["token:read"]}
    created = private.tokens.create(type="card", data=CARD, metadata={"seen": "yes"})
    read = client_with(rules=[rule]).tokens.get(created.id)
    equal((read.data, read.metadata, read.card.last4), (None, {"seen": "yes"}, "4242"))
