"""Many values at once, into tokens and back."""

from clients import private
from harness import CARD, UUID, check, equal, fresh, matches


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
