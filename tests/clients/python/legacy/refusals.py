"""Every refusal arrives as the class that the client has for it."""

import json

from basistheory.exceptions import (
    ApiException,
    ForbiddenException,
    NotFoundException,
    UnauthorizedException,
)
from basistheory.model.create_application_request import CreateApplicationRequest
from basistheory.model.create_token_request import CreateTokenRequest
from basistheory.model.update_token_request import UpdateTokenRequest

from clients import applications, create, public_tokens, tokens, tokens_of
from harness import check, equal, fresh, raises

NOBODY = "00000000-0000-4000-8000-000000000000"


@check
def an_unknown_key_is_unauthorized():
    unknown = tokens_of("key_test_self_pvt_1111111111111111111111")
    with raises(UnauthorizedException, 401) as caught:
        unknown.create(create_token_request=CreateTokenRequest(type="token", data=1))
    equal(json.loads(caught[0].body)["status"], 401)


@check
def a_key_without_the_permission_is_forbidden():
    for call in [lambda: public_tokens.get_by_id(NOBODY), lambda: public_tokens.delete(NOBODY)]:
        with raises(ForbiddenException, 403):
            call()


@check
def what_is_not_there_is_not_found():
    for call in [
        lambda: tokens.get_by_id(NOBODY),
        lambda: tokens.delete(NOBODY),
        lambda: tokens.update(NOBODY, update_token_request=UpdateTokenRequest(data=1)),
        lambda: applications.get_by_id(NOBODY),
    ]:
        with raises(NotFoundException, 404):
            call()


@check
def a_bad_request_says_what_is_wrong():
    with raises(ApiException, 400) as caught:
        create(type="card", data={"number": "4242424242424241", "expiration_month": 13})
    body = json.loads(caught[0].body)
    equal(set(body["errors"]), {"data.number", "data.expiration_month"})
    assert body["title"] and body["detail"]


@check
def a_taken_id_is_a_conflict():
    wanted = fresh("id")
    create(id=wanted, type="token", data=1)
    with raises(ApiException, 409):
        create(id=wanted, type="token", data=2)


@check
def an_application_key_cannot_be_regenerated_any_more():
    made = applications.create(create_application_request=CreateApplicationRequest(
        name="Old habits", type="private", permissions=["token:read"]))
    with raises(ApiException, 410) as caught:
        applications.regenerate_key(made.id)
    assert "keys" in json.loads(caught[0].body)["detail"]
