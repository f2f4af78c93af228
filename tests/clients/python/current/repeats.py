"""Doing things twice: idempotency keys, deduplication and the client's own retries."""

import asyncio
import uuid
from concurrent.futures import ThreadPoolExecutor

import httpx
from basis_theory import AsyncBasisTheory, BasisTheory
from basis_theory.errors import ConflictError

from clients import management, private
from harness import CARD, HeldRequest, check, equal, fresh, limited, raises, server


def key():
    return str(uuid.uuid4())


@check
def the_same_key_with_another_body_answers_the_first_result():
    once = key()
    first = private.tokens.create(type="card", data=CARD, idempotency_key=once)
    other = {**CARD, "number": "5555555555554444"}
    second = private.tokens.create(type="card", data=other, idempotency_key=once)
    equal(second, first)
    equal(second.data["number"], CARD["number"])
    replayed = private.tokens.with_raw_response.create(type="token", data=1, idempotency_key=once)
    equal(replayed.headers["bt-idempotent-replayed"], "true")


@check
def every_write_takes_a_key():
    once = key()
    body = {"type": "token", "data": fresh()}
    equal(private.tokens.tokenize(request=body, idempotency_key=once)["id"],
          private.tokens.tokenize(request=body, idempotency_key=once)["id"])
    wanted = {"name": "Once", "type": "private", "permissions": ["token:read"]}
    first = management.applications.create(**wanted, idempotency_key=once)
    second = management.applications.create(**wanted, idempotency_key=once)
    equal((second.id, second.key), (first.id, first.key))
    made = management.application_keys.create(first.id, idempotency_key=once)
    equal(management.application_keys.create(first.id, idempotency_key=once), made)
    changed = management.applications.update(first.id, name="Twice", permissions=["token:read"],
                                             idempotency_key=once)
    equal(changed.name, "Twice")


@check
def a_key_in_flight_is_waited_for_and_then_answers_the_first_result():
    once = key()
    held = HeldRequest("/tokens", {"type": "token", "data": "the first"}, once)
    answers, seen = [], []

    def on_response(response):
        seen.append((response.status_code, response.headers.get("retry-after")))
        if response.status_code == 409:
            answers.append(held.finish())

    waiting = BasisTheory(
        base_url=server.url, api_key=server.private,
        httpx_client=httpx.Client(event_hooks={"response": [on_response]}),
    )
    second = waiting.tokens.create(type="token", data="the second", idempotency_key=once)
    equal(seen, [(409, "1"), (201, None)])
    equal(answers[0][0], 201)
    equal(second.id, answers[0][1]["id"])
    equal(private.tokens.get(second.id).data, "the first")


@check
def a_key_in_flight_is_a_conflict_for_a_client_that_does_not_wait():
    once = key()
    held = HeldRequest("/tokens", {"type": "token", "data": 1}, once)
    with raises(ConflictError, 409) as caught:
        private.tokens.create(type="token", data=2, idempotency_key=once,
                              request_options={"max_retries": 0})
    equal(caught[0].headers["retry-after"], "1")
    equal(held.finish()[0], 201)


@check
def a_rate_limit_is_waited_out_as_its_answer_says():
    # 50 requests in 10 seconds are the published limit of a test tenant: the rest waits.
    refused = []

    def on_response(response):
        if response.status_code == 429:
            refused.append(response.headers)

    throttled = BasisTheory(
        base_url=limited.url, api_key=limited.private,
        httpx_client=httpx.Client(event_hooks={"response": [on_response]}),
    )

    def create(number):
        patient = {"max_retries": 20}
        return throttled.tokens.create(type="token", data=number, request_options=patient)

    # Several at a time: on a busy machine, one after the other would stay below the limit.
    with ThreadPoolExecutor(8) as threads:
        created = list(threads.map(create, range(70)))
    equal(len({token.id for token in created}), 70)
    assert refused
    for headers in refused:
        assert int(headers["retry-after"]) >= 1
        equal((headers["x-ratelimit-limit"], headers["x-ratelimit-remaining"]), ("50", "0"))
        assert int(headers["x-ratelimit-reset"]) > 0


@check
def deduplication_finds_the_token_that_is_there():
    value = {"name": fresh()}
    first = private.tokens.create(type="token", data=value, metadata={"n": "1"},
                                  deduplicate_token=True)
    equal(first.extras.deduplicated, False)
    second = private.tokens.create(type="token", data=value, metadata={"n": "2"},
                                   deduplicate_token=True)
    equal(second.id, first.id)
    equal(second.extras.deduplicated, True)
    equal(second.extras.deduplication_behavior, "read_existing")
    equal(second.metadata, {"n": "1"})
    third = private.tokens.create(type="token", data=value)
    assert third.id != first.id


@check
def the_asynchronous_client_does_the_same():
    async def go():
        client = AsyncBasisTheory(base_url=server.url, api_key=server.private)
        created = await asyncio.gather(
            *(client.tokens.create(type="token", data=n) for n in range(10))
        )
        read = await asyncio.gather(*(client.tokens.get(token.id) for token in created))
        equal([token.data for token in read], list(range(10)))
        await asyncio.gather(*(client.tokens.delete(token.id) for token in created))

    asyncio.run(go())
