"""What a caller sees who may not see everything."""

from clients import client_with, private, public
from harness import CARD, check, equal

READER = [{"priority": 1, "container": "/", "transform": "mask",
           "permissions": ["token:read", "token:search"]}]

# Type, data, what a masked read shows.
DEFAULTS = [
    ("card", CARD, {"number": "XXXXXXXXXXXX4242", "expiration_month": 12, "expiration_year": 2030}),
    ("bank", {"routing_number": "021000021", "account_number": "123456789"},
     {"routing_number": "021000021", "account_number": "XXXXX6789"}),
    ("card_number", "36227206271667", "XXXXXXXXXX1667"),
    ("social_security_number", "123-45-6789", "XXX-XX-6789"),
    ("employer_id_number", "12-3456789", "XX-XXX6789"),
    ("us_bank_account_number", "00001234567", "XXXXXXX4567"),
    ("token", "no mask, so nothing", None),
]


@check
def a_masked_read_shows_the_default_mask_of_the_type():
    masked = client_with(rules=READER)
    for kind, data, shown in DEFAULTS:
        created = private.tokens.create(type=kind, data=data)
        read = masked.tokens.get(created.id)
        equal(read.data, shown)
        equal("data" in read.__fields_set__, shown is not None)


@check
def a_masked_read_shows_the_masks_of_the_caller():
    masked = client_with(rules=READER)
    created = private.tokens.create(
        type="token",
        data={"text": "Sensitive Value", "number": 42, "list": ["one", "two"], "hidden": "x"},
        mask={"text": "{{ data.text | reveal_last: 4, '#' }}", "number": "{{ data.number }}",
              "list": ["{{ data.list | first }}", "constant"]},
    )
    equal(masked.tokens.get(created.id).data,
          {"text": "###########alue", "number": 42, "list": ["one", "constant"]})
    equal(private.tokens.get(created.id).data["hidden"], "x")


@check
def a_mask_with_a_comma_for_the_pipe_is_taken_as_the_pipe():
    masked = client_with(rules=READER)
    created = private.tokens.create(
        type="card", data=CARD,
        mask={"number": "{{ data.number, reveal_last: 4 }}", "cvc": "{{ data.cvc }}"},
    )
    equal(masked.tokens.get(created.id).data["number"], "XXXXXXXXXXXX4242")


@check
def a_public_application_creates_and_sees_the_mask():
    created = public.tokens.create(type="card", data=CARD)
    equal(created.data, {"number": "XXXXXXXXXXXX4242", "expiration_month": 12,
                         "expiration_year": 2030})
    equal(private.tokens.get(created.id).data["number"], CARD["number"])


@check
def a_redacted_read_shows_no_data():
    redacted = client_with(rules=[{**READER[0], "transform": "redact"}])
    created = private.tokens.create(type="card", data=CARD, metadata={"seen": "yes"})
    read = redacted.tokens.get(created.id)
    equal((read.data, read.metadata, read.card.last4), (None, {"seen": "yes"}, "4242"))


@check
def the_rule_of_the_nearest_priority_decides_by_container():
    caller = client_with(rules=[
        {"priority": 2, "container": "/pci/", "transform": "mask", "permissions": ["token:read"]},
        {"priority": 1, "container": "/pci/low/", "transform": "reveal",
         "permissions": ["token:read"]},
    ])
    high = private.tokens.create(type="card", data=CARD)
    low = private.tokens.create(type="card", data=CARD, containers=["/pci/low/deep/"])
    equal(caller.tokens.get(high.id).data["number"], "XXXXXXXXXXXX4242")
    equal(caller.tokens.get(low.id).data["number"], CARD["number"])


@check
def the_answer_to_a_patch_is_masked_where_its_permission_is():
    caller = client_with(permissions=["token:create", "token:update", "token:read"])
    created = caller.tokens.create(
        type="token", data={"foo": "bar", "newfoo": "foobar"},
        mask={"foo": "{{ data.foo }}", "newfoo": "{{ data.newfoo | reveal_last: 4, '#' }}"},
    )
    equal(created.data, {"foo": "bar", "newfoo": "##obar"})
    updated = caller.tokens.update(created.id, data={"foo": "newbar"})
    equal(updated.data, {"foo": "newbar", "newfoo": "##obar"})
