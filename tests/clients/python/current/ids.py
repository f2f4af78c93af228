"""Ids: assigned, predefined and made from the data."""

import re
import uuid

from basis_theory.errors import BadRequestError, ConflictError

from clients import private
from harness import CARD, UUID, check, equal, fresh, matches, raises

ONCE = {"max_retries": 0}


@check
def an_assigned_id_is_a_uuid_of_a_version_that_clients_know():
    for _ in range(20):
        matches(UUID, private.tokens.create(type="token", data="x").id)


@check
def a_predefined_id_with_odd_characters_is_read_changed_and_deleted():
    tail = uuid.uuid4().hex
    for odd in ["a@b", "a:b", "a;b", "a,b", "a$b", "a!b", "a b", "a.b", "a~b", "a'b", "(a)*b",
                "\u00e9t\u00e9", "a\"b", "a`b", "UPPER lower"]:
        wanted = f"{odd}-{tail}"
        created = private.tokens.create(id=wanted, type="token", data={"n": 1})
        equal(created.id, wanted)
        equal(private.tokens.get(wanted).id, wanted)
        equal(private.tokens.update(wanted, data={"n": 2}).data, {"n": 2})
        equal(private.tokens.get(wanted).data, {"n": 2})
        private.tokens.delete(wanted)


@check
def an_id_has_3_to_400_characters():
    for length in [3, 400]:
        wanted = (uuid.uuid4().hex * 20)[:length]
        equal(private.tokens.create(id=wanted, type="token", data=1).id, wanted)
        private.tokens.delete(wanted)
    for length in [1, 2, 401]:
        with raises(BadRequestError, 400) as caught:
            private.tokens.create(id="a" * length, type="token", data=1)
        assert "id" in caught[0].body.errors


@check
def an_id_with_a_character_of_urls_is_refused():
    for character in "#/\\+?[]|&=%<>{}^":
        with raises(BadRequestError, 400) as caught:
            private.tokens.create(id=f"abc{character}def", type="token", data=1)
        equal(list(caught[0].body.errors), ["id"])


@check
def a_taken_id_is_a_conflict():
    wanted = fresh("id")
    private.tokens.create(id=wanted, type="token", data=1)
    with raises(ConflictError, 409) as caught:
        private.tokens.create(id=wanted, type="token", data=2, request_options=ONCE)
    equal(caught[0].body.status, 409)
    equal(private.tokens.get(wanted).data, 1)


@check
def a_deleted_id_is_free_again():
    wanted = fresh("id")
    private.tokens.create(id=wanted, type="token", data=1)
    private.tokens.delete(wanted)
    private.tokens.create(id=wanted, type="token", data=2)
    equal(private.tokens.get(wanted).data, 2)


@check
def an_alias_keeps_the_shape_of_the_card():
    created = private.tokens.create(
        type="card_number", data="4242424242424242",
        id="{{ data | alias_card: 'true', 'true' }}",
    )
    matches(re.compile(r"^42424242\d{4}4242$"), created.id)
    equal(private.tokens.get(created.id).data, "4242424242424242")


@check
def an_alias_keeps_the_shape_of_the_text():
    created = private.tokens.create(
        type="social_security_number", data="123-45-6789",
        id="{{ data | alias_preserve_format: 0, 4 }}",
    )
    matches(re.compile(r"^\d{3}-\d{2}-6789$"), created.id)
    plain = private.tokens.create(type="token", data="abcdefghij",
                                  id="{{ data | alias_preserve_length }}")
    matches(re.compile(r"^[A-Za-z0-9]{10}$"), plain.id)


@check
def an_alias_that_cannot_be_unique_becomes_a_uuid():
    value = fresh()
    first = private.tokens.create(type="token", data=value, id="{{ data }}")
    equal(first.id, value)
    second = private.tokens.create(type="token", data=value, id="{{ data }}")
    matches(UUID, second.id)


@check
def an_alias_never_holds_a_verification_code():
    prefix = fresh("id")
    data = {**CARD, "cvc": "9876"}
    created = private.tokens.create(type="card", data=data, id=prefix + ":{{ data.cvc }}")
    equal(created.id, prefix + ":")
