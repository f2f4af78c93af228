"""Lists and searches, page by page."""

import uuid

from basis_theory.core.api_error import ApiError

from clients import private
from harness import check, equal, fresh, raises


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
def a_bad_cursor_or_size_is_refused():
    # The client has no class for a 400 of this method.
    for wrong in [{"start": "nonsense"}, {"size": 101}]:
        with raises(ApiError, 400):
            private.tokens.list_v2(**wrong)


@check
def a_search_finds_by_index_metadata_type_container_and_fingerprint():
    customer = fresh()
    container, made = some(3, metadata={"customer": customer}, search_indexes=["{{ data }}"])
    first = private.tokens.get(made[0])
    for query, expected in [
        (f'data:"{first.data}"', made[:1]),
        (f'metadata.customer:"{customer}"', made),
        (f'container:"{container}"', made),
        (f'type:token AND container:"{container}"', made),
        (f"fingerprint:{first.fingerprint}", made[:1]),
        (f'type:card AND container:"{container}"', []),
    ]:
        found = [token.id for token in private.tokens.search_v2(query=query, size=2)]
        equal((query, found), (query, expected))
