"""Tokens of every type: stored, read, changed and deleted."""

from basis_theory import Privacy
from basis_theory.errors import BadRequestError, NotFoundError

from clients import private
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
def a_card_of_an_unknown_bin_has_no_brand():
    # 9 is for national use: no scheme owns it. The check digit is right.
    card = private.tokens.create(type="card", data={"number": "9999999999999995"}).card
    equal((card.bin, card.brand, card.funding), ("99999999", None, None))


@check
def a_bank_account_carries_its_details():
    data = {"routing_number": "021000021", "account_number": "123456789"}
    bank = private.tokens.create(type="bank", data=data).bank
    equal((bank.routing_number, bank.account_number_last4), ("021000021", "6789"))


@check
def a_verification_code_may_be_an_integer_and_a_card_may_have_expired():
    data = {"number": "4242424242424242", "expiration_month": 4, "expiration_year": 2025,
            "cvc": 123}
    created = private.tokens.create(type="card", data=data)
    read = private.tokens.get(created.id)
    equal(str(read.data["cvc"]), "123")
    equal(read.data["expiration_year"], 2025)


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
def a_patch_of_a_card_is_merged_before_it_is_validated():
    created = private.tokens.create(type="card", data=CARD)
    updated = private.tokens.update(created.id, data={"number": "5555555555554444"})
    equal((updated.card.brand, updated.card.expiration_month), ("mastercard", 12))
    assert updated.fingerprint != created.fingerprint
    private.tokens.update(created.id, data={"cvc": None})
    read = private.tokens.get(created.id)
    equal(read.data, {"number": "5555555555554444", "expiration_month": 12,
                      "expiration_year": 2030})
    with raises(BadRequestError, 400) as caught:
        private.tokens.update(created.id, data={"number": "4242424242424241"})
    assert "data.number" in caught[0].body.errors, caught[0].body


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


@check
def equal_data_has_an_equal_fingerprint_within_a_type():
    value = fresh()
    first, second = (private.tokens.create(type="token", data=value) for _ in range(2))
    equal(first.fingerprint, second.fingerprint)
    assert first.id != second.id
    with_hyphens = private.tokens.create(type="social_security_number", data="111-22-3333")
    without = private.tokens.create(type="social_security_number", data="111223333")
    equal(with_hyphens.fingerprint, without.fingerprint)
    number = private.tokens.create(type="card_number", data="4242424242424242")
    card = private.tokens.create(type="card", data=CARD)
    assert number.fingerprint != card.fingerprint


@check
def a_fingerprint_may_be_made_of_metadata():
    made = [
        private.tokens.create(
            type="token", data=fresh(), metadata={"customer": customer},
            fingerprint_expression="{{ metadata.customer }}",
        ).fingerprint
        for customer in ["a", "a", "b"]
    ]
    equal(made[0], made[1])
    assert made[0] != made[2]
