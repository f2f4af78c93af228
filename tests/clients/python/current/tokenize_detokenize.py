"""Many values at once, into tokens and back."""

from basis_theory.errors import BadRequestError, ForbiddenError

from clients import client_with, private, public
from harness import CARD, UUID, check, equal, fresh, matches, raises

MISSING = "00000000-0000-4000-8000-000000000000"


@check
def plain_values_become_ids_and_shapes_stay():
    name = fresh()
    made = private.tokens.tokenize(request={"name": name, "list": ["one", 2, {"deep": True}]})
    for token_id in [made["name"], *made["list"][:2], made["list"][2]["deep"]]:
        matches(UUID, token_id)
    back = private.tokens.detokenize(request={
        "name": "{{ " + made["name"] + " }}", "number": "{{" + made["list"][1] + "}}",
        "flag": "{{ " + made["list"][2]["deep"] + " }}",
    })
    equal(back, {"name": name, "number": 2, "flag": True})


@check
def a_token_request_becomes_a_token():
    made = private.tokens.tokenize(request={
        "card": {"type": "card", "data": CARD, "metadata": {"a": "b"}},
        "account": {"type": "bank", "data": {"routing_number": "021000021",
                                             "account_number": "00001"}},
    })
    equal((made["card"]["type"], made["card"]["metadata"]), ("card", {"a": "b"}))
    equal(made["account"]["bank"]["account_number_last4"], "0001")
    single = private.tokens.tokenize(request={"type": "token", "data": "the root itself"})
    equal(private.tokens.get(single["id"]).data, "the root itself")
    listed = private.tokens.tokenize(request=["a", {"type": "token", "data": "b"}])
    equal(private.tokens.get(listed[0]).data, "a")
    equal(private.tokens.get(listed[1]["id"]).data, "b")


@check
def tokenizing_is_all_or_nothing():
    wanted = fresh("id")
    with raises(BadRequestError, 400):
        private.tokens.tokenize(request={
            "good": {"type": "token", "id": wanted, "data": 1},
            "bad": {"type": "card", "data": {"number": "1"}},
        })
    private.tokens.create(id=wanted, type="token", data="still free")


@check
def more_than_the_quota_is_refused():
    private.tokens.tokenize(request=[fresh() for _ in range(5)])
    with raises(BadRequestError, 400):
        private.tokens.tokenize(request=[fresh() for _ in range(6)])
    token = private.tokens.create(type="token", data="x")
    with raises(BadRequestError, 400):
        private.tokens.detokenize(request=["{{ " + token.id + " }}"] * 6)


@check
def expressions_reach_into_data_and_the_whole_token():
    token = private.tokens.create(type="card", data=CARD, metadata={"customer": "77"})
    back = private.tokens.detokenize(request={
        "data": "{{ " + token.id + " }}",
        "number": "{{ " + token.id + " | json: '$.number' }}",
        "month": "{{ " + token.id + " | json: '$.expiration_month' }}",
        "text": "no. {{ " + token.id + " | json: '$.number' | last4 }}!",
        "customer": "{{ token: " + token.id + " | json: '$.metadata.customer' }}",
    })
    equal(back, {"data": CARD, "number": CARD["number"], "month": 12, "text": "no. 4242!",
                 "customer": "77"})


@check
def values_without_expressions_stay():
    equal(private.tokens.detokenize(request={"a": [1, None, "plain { text }"]}),
          {"a": [1, None, "plain { text }"]})


@check
def a_detokenization_of_nothing_known_is_refused():
    with raises(BadRequestError, 400):
        private.tokens.detokenize(request={"a": "{{ " + MISSING + " }}"})
    token = private.tokens.create(type="card", data=CARD)
    with raises(ForbiddenError, 403):
        public.tokens.detokenize(request={"a": "{{ " + token.id + " }}"})


@check
def using_reveals_and_reading_shows_its_transform():
    token = private.tokens.create(type="card_number", data="4242424242424242")
    request = {"n": "{{ " + token.id + " }}"}
    user = client_with(permissions=["token:use"])
    equal(user.tokens.detokenize(request=request), {"n": "4242424242424242"})
    reader = client_with(permissions=["token:read"])
    equal(reader.tokens.detokenize(request=request), {"n": "XXXXXXXXXXXX4242"})
