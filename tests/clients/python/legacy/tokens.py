"""Tokens: stored, read, changed, deleted, in bulk."""

import json
import uuid

from basistheory.exceptions import NotFoundException
from basistheory.model.create_token_request import CreateTokenRequest
from basistheory.model.privacy import Privacy
from basistheory.model.update_token_request import UpdateTokenRequest

from clients import create, detokenizing, once, tokenizing, tokens
from harness import CARD, UUID, check, equal, fresh, matches, raises, server

VALUES = [
    ("bank", {"routing_number": "021000021", "account_number": "00001"}, "/bank/high/"),
    ("card", CARD, "/pci/high/"),
    ("card_number", "36227206271667", "/pci/high/"),
    ("employer_id_number", "12-3456789", "/pii/high/"),
    ("social_security_number", "123-45-6789", "/pii/high/"),
    ("token", {"any": ["shape", 1, 2.5, True, {"of": "value"}]}, "/general/high/"),
    ("us_bank_account_number", "00001234567", "/bank/high/"),
    ("us_bank_routing_number", "021000021", "/bank/low/"),
]


@check
def a_token_of_every_type_is_stored_read_and_deleted():
    for kind, data, container in VALUES:
        created = create(type=kind, data=data)
        matches(UUID, created.id)
        equal((created.type, created.tenant_id), (kind, server.tenant_id))
        equal(created.containers, [container])
        assert created.created_at.tzinfo is not None
        read = tokens.get_by_id(created.id)
        equal(read.data, data)
        equal(read.fingerprint, created.fingerprint)
        equal(tokens.delete(created.id), None)
        with raises(NotFoundException, 404):
            tokens.get_by_id(created.id)


@check
def everything_that_can_be_given_comes_back():
    created = create(
        type="token",
        data={"name": fresh(), "note": "plain"},
        mask={"note": "{{ data.note }}"},
        containers=["/general/low/"],
        metadata={"customer": "1234"},
        search_indexes=["{{ data.name }}"],
        fingerprint_expression="{{ data.name }}",
        privacy=Privacy(classification="general", impact_level="low"),
        expires_at="8/26/2040 7:23:57 PM -07:00",
    )
    for token in [created, tokens.get_by_id(created.id)]:
        equal(token.mask, {"note": "{{ data.note }}"})
        equal(token.containers, ["/general/low/"])
        equal(token.metadata, {"customer": "1234"})
        equal(token.search_indexes, ["{{ data.name }}"])
        equal(token.fingerprint_expression, "{{ data.name }}")
        equal(token.expires_at.isoformat(), "2040-08-27T02:23:57+00:00")
        equal((token.privacy.classification, token.privacy.impact_level), ("general", "low"))


@check
def a_merge_patch_changes_what_it_names():
    created = create(type="token", data={"a": 1, "b": {"c": 2}}, metadata={"keep": "1"})
    request = UpdateTokenRequest(data={"b": {"c": None, "d": 3}}, metadata={"add": "2"})
    updated = tokens.update(created.id, update_token_request=request)
    equal(updated.id, created.id)
    read = tokens.get_by_id(created.id)
    equal((read.data, read.metadata), ({"a": 1, "b": {"d": 3}}, {"keep": "1", "add": "2"}))
    assert read.modified_at is not None


@check
def a_predefined_id_with_odd_characters_is_found():
    tail = uuid.uuid4().hex
    for odd in ["a@b", "a:b", "a;b", "a,b", "a$b", "a!b", "a b", "a~b", "(a)*b"]:
        wanted = f"{odd}-{tail}"
        equal(create(id=wanted, type="token", data=1).id, wanted)
        equal(tokens.get_by_id(wanted).data, 1)
        request = UpdateTokenRequest(data=2)
        equal(tokens.update(wanted, update_token_request=request).data, 2)
        tokens.delete(wanted)


@check
def deduplication_finds_the_token_that_is_there():
    value = fresh()
    first = create(type="token", data=value, deduplicate_token=True)
    second = create(type="token", data=value, deduplicate_token=True)
    equal(second.id, first.id)
    equal((first.extras.deduplicated, second.extras.deduplicated), (False, True))


@check
def the_same_key_answers_the_first_result():
    interface, options = once()
    first = interface.create(
        create_token_request=CreateTokenRequest(type="card", data=CARD), request_options=options
    )
    second = interface.create(
        create_token_request=CreateTokenRequest(type="token", data="other"), request_options=options
    )
    equal((second.id, second.type), (first.id, "card"))


@check
def values_are_tokenized_and_detokenized():
    made = tokenizing.tokenize(body={"name": "one", "card": {"type": "card", "data": CARD}})
    matches(UUID, made["name"])
    equal(made["card"]["type"], "card")
    request = {
        "name": "{{ " + made["name"] + " }}",
        "number": "{{ " + made["card"]["id"] + " | json: '$.number' }}",
    }
    # This client throws the answer away unless it is asked for the answer as it is.
    back = detokenizing.detokenize(body=request, _preload_content=False)
    equal(json.loads(back.data), {"name": "one", "number": CARD["number"]})
