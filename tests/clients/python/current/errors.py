"""Every refusal arrives as the class that the client has for it, with a body that says why."""

import ssl

import httpx
from basis_theory import BasisTheory
from basis_theory.errors import (
    BadRequestError,
    ForbiddenError,
    NotFoundError,
    UnauthorizedError,
)

from clients import client_of, management, private, public
from harness import CARD, check, equal, raises, server

NOBODY = "00000000-0000-4000-8000-000000000000"


def says_why(error):
    """The three members that programs rely on."""
    body = error.body if isinstance(error.body, dict) else error.body.__dict__
    equal(body["status"], error.status_code)
    assert body["title"] and body["detail"], body


def refused_alike(kind, status, calls):
    for call in calls:
        with raises(kind, status) as caught:
            call()
        says_why(caught[0])


@check
def an_unknown_key_is_unauthorized_everywhere():
    unknown = client_of("key_test_self_pvt_1111111111111111111111.00000000000000000000000000000000")
    calls = [
        lambda: unknown.tokens.create(type="token", data=1),
        lambda: unknown.tokens.get(NOBODY),
        lambda: unknown.tokens.update(NOBODY, data=1),
        lambda: unknown.tokens.delete(NOBODY),
        lambda: unknown.tokens.tokenize(request={"a": 1}),
        lambda: unknown.tokens.detokenize(request={"a": 1}),
        lambda: unknown.token_intents.create(type="card", data=CARD),
        lambda: unknown.applications.list(),
        lambda: unknown.applications.get_by_key(),
        lambda: unknown.tenants.self_.get(),
        lambda: unknown.permissions.list(),
    ]
    refused_alike(UnauthorizedError, 401, calls)


@check
def a_key_without_the_permission_is_forbidden():
    calls = [
        lambda: public.tokens.get(NOBODY),
        lambda: public.tokens.update(NOBODY, data=1),
        lambda: public.tokens.delete(NOBODY),
        lambda: public.token_intents.get(NOBODY),
        lambda: public.token_intents.delete(NOBODY),
        lambda: private.applications.create(name="x", type="private", permissions=["token:read"]),
        lambda: private.applications.list(),
        lambda: private.tenants.self_.get(),
        lambda: management.tokens.create(type="token", data=1),
        lambda: management.tokens.get(NOBODY),
    ]
    refused_alike(ForbiddenError, 403, calls)


@check
def what_is_not_there_is_not_found():
    calls = [
        lambda: private.tokens.get(NOBODY),
        lambda: private.tokens.get("no such name"),
        lambda: private.tokens.update(NOBODY, data=1),
        lambda: private.tokens.delete(NOBODY),
        lambda: private.token_intents.get(NOBODY),
        lambda: private.token_intents.delete(NOBODY),
        lambda: management.applications.get(NOBODY),
        lambda: management.applications.update(NOBODY, name="x", permissions=["token:read"]),
        lambda: management.applications.delete(NOBODY),
        lambda: management.application_keys.list(NOBODY),
        lambda: management.application_templates.get(NOBODY),
    ]
    refused_alike(NotFoundError, 404, calls)


# A request, and the paths that its errors must name, all of them at once.
REFUSED = [
    ({"type": "card", "data": {"number": "4242424242424241", "expiration_month": 0, "cvc": "x"}},
     {"data.number", "data.expiration_month", "data.cvc"}),
    ({"type": "no_such_type", "data": "x"}, {"type"}),
    ({"data": "x"}, {"type"}),
    ({"type": "token"}, {"data"}),
    ({"type": "token", "data": "x", "containers": ["general"]}, {"containers[0]"}),
]


@check
def a_bad_request_names_every_mistake():
    for request, paths in REFUSED:
        with raises(BadRequestError, 400) as caught:
            private.tokens.create(**request)
        says_why(caught[0])
        found = set(caught[0].body.errors)
        equal((request, found), (request, paths))
        # A refusal never repeats what it was given.
        assert "4242424242424241" not in str(caught[0].body)


@check
def a_trace_id_comes_back_on_success_and_on_failure():
    traced = client_of(server.private, correlation_id="a-trace-of-mine")
    answer = traced.tokens.with_raw_response.create(type="token", data=1)
    equal(answer.headers["bt-trace-id"], "a-trace-of-mine")
    equal(answer.headers["content-type"], "application/json; charset=utf-8")
    with raises(NotFoundError, 404) as caught:
        traced.tokens.get(NOBODY)
    equal(caught[0].headers["bt-trace-id"], "a-trace-of-mine")
    assert private.tokens.with_raw_response.create(type="token", data=1).headers["bt-trace-id"]


@check
def a_client_that_brings_its_own_http_client_and_a_trailing_slash_works():
    trusting = httpx.Client(verify=ssl.create_default_context(cafile=server.ca))
    client = BasisTheory(base_url=server.url + "/", api_key=server.private, httpx_client=trusting)
    created = client.tokens.create(type="token", data="over its own client")
    equal(client.tokens.get(created.id).data, "over its own client")
