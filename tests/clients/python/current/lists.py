"""Lists and searches, page by page."""

import uuid

from basis_theory.core.api_error import ApiError
from basis_theory.errors import BadRequestError, ForbiddenError

from clients import client_with, private, public
from harness import CARD, check, equal, fresh, raises


def some(count, **options):
    """Tokens in a container of their own; the newest first, as lists are."""
    container = f"/made/{uuid.uuid4().hex}/"
    made = [private.tokens.create(type="token", data=fresh(), containers=[container], **options)
            for _ in range(count)]
    return container, [token.id for token in reversed(made)]


@check
def a_list_goes_through_all_pages():
    container, made = some(7)
    for size in [1, 2, 3, 7, 100]:
        found = [token.id for token in private.tokens.list_v2(container=container, size=size)]
        equal((size, found), (size, made))


@check
def the_last_page_says_that_it_is_the_last():
    container, made = some(4)
    first = private.tokens.list_v2(container=container, size=2)
    assert first.has_next
    equal([token.id for token in first.items], made[:2])
    second = first.next_page()
    equal([token.id for token in second.items], made[2:])
    assert not second.has_next
    equal(second.response.pagination.next, None)


@check
def a_list_is_not_disturbed_by_creates_and_deletes():
    container, made = some(6)
    pages = private.tokens.list_v2(container=container, size=2).iter_pages()
    found = [token.id for token in next(pages).items]
    private.tokens.create(type="token", data=1, containers=[container])
    private.tokens.delete(made[2])
    for page in pages:
        found.extend(token.id for token in page.items)
    equal(found, made[:2] + made[3:])


@check
def a_list_is_filtered():
    customer = fresh()
    container, made = some(2, metadata={"customer": customer})
    first = private.tokens.get(made[0])
    found = private.tokens.list_v2(metadata={"customer": customer})
    equal([token.id for token in found], made)
    found = private.tokens.list_v2(container=container, metadata={"customer": customer})
    equal([token.id for token in found], made)
    found = private.tokens.list_v2(fingerprint=first.fingerprint)
    equal([token.id for token in found], made[:1])
    found = private.tokens.list_v2(type="token", container=container)
    equal([token.id for token in found], made)
    equal(list(private.tokens.list_v2(type="card", container=container)), [])
    equal(list(private.tokens.list_v2(metadata={"customer": customer.upper()})), [])
    everything = [token.id for token in private.tokens.list_v2(size=100)]
    assert set(made) <= set(everything)


@check
def a_list_shows_what_its_caller_may_see():
    container = f"/made/{uuid.uuid4().hex}/"
    private.tokens.create(type="card", data=CARD, containers=[container])
    private.tokens.create(type="card", data=CARD)
    narrow = client_with(rules=[{"priority": 1, "container": container, "transform": "mask",
                                 "permissions": ["token:read"]}])
    found = list(narrow.tokens.list_v2())
    equal([token.data["number"] for token in found], ["XXXXXXXXXXXX4242"])
    with raises(ForbiddenError, 403):
        public.tokens.list_v2()


@check
def a_bad_cursor_or_size_is_refused():
    # The client has no class for a 400 of this method.
    for wrong in [{"start": "nonsense"}, {"size": 101}]:
        with raises(ApiError, 400):
            private.tokens.list_v2(**wrong)


@check
def a_search_finds_by_index():
    value = fresh()
    container = f"/made/{uuid.uuid4().hex}/"
    made = private.tokens.create(
        type="token", data={"name": value}, containers=[container],
        search_indexes=["{{ data.name }}", "{{ data.name | upcase }}"],
    )
    for query in [f'data:"{value}"', f"data:{value.upper()}",
                  f'container:"{container}" AND data:"{value}"']:
        found = [token.id for token in private.tokens.search_v2(query=query)]
        equal((query, found), (query, [made.id]))
    equal(list(private.tokens.search_v2(query=f"data:{value.title()}")), [])


@check
def a_social_security_number_is_found_by_its_parts():
    digits = str(uuid.uuid4().int)[:9]
    number = f"{digits[:3]}-{digits[3:5]}-{digits[5:]}"
    made = private.tokens.create(type="social_security_number", data=number)
    for wanted in [number, digits, digits[5:]]:
        found = [token.id for token in private.tokens.search_v2(query=f'data:"{wanted}"')]
        assert made.id in found, wanted


@check
def a_search_finds_by_metadata_type_container_and_fingerprint():
    customer = fresh()
    container, made = some(3, metadata={"customer": customer})
    first = private.tokens.get(made[0])
    for query, expected in [
        (f'metadata.customer:"{customer}"', made),
        (f'container:"{container}"', made),
        (f'type:token AND container:"{container}"', made),
        (f"fingerprint:{first.fingerprint}", made[:1]),
        (f'type:card AND container:"{container}"', []),
    ]:
        found = [token.id for token in private.tokens.search_v2(query=query, size=2)]
        equal((query, found), (query, expected))


@check
def a_changed_or_deleted_token_is_found_by_what_it_is_now():
    before, after = fresh(), fresh()
    made = private.tokens.create(type="token", data=before, search_indexes=["{{ data }}"])
    private.tokens.update(made.id, data=after)
    equal(list(private.tokens.search_v2(query=f"data:{before}")), [])
    equal([token.id for token in private.tokens.search_v2(query=f"data:{after}")], [made.id])
    private.tokens.delete(made.id)
    equal(list(private.tokens.search_v2(query=f"data:{after}")), [])


@check
def a_query_that_is_no_longer_supported_is_refused():
    for query in ["data:a OR data:b", "NOT data:a", "id:abc", "metadata.a:1 AND metadata.b:2",
                  "created_at:2020", "nonsense", 'data:"unfinished']:
        with raises(BadRequestError, 400):
            private.tokens.search_v2(query=query)


@check
def a_search_needs_its_permission():
    with raises(ForbiddenError, 403):
        public.tokens.search_v2(query="type:card")
