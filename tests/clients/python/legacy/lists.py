"""Lists and searches, in both versions."""

from basistheory.exceptions import ApiException
from basistheory.model.search_tokens_request import SearchTokensRequest
from basistheory.model.search_tokens_request_v2 import SearchTokensRequestV2

from clients import create, tokens
from harness import check, equal, fresh, raises


def search_v2(query, **options):
    request = SearchTokensRequestV2(query=query, **options)
    return tokens.search_v2(search_tokens_request_v2=request)


def search(query, **options):
    return tokens.search(search_tokens_request=SearchTokensRequest(query=query, **options))


@check
def a_list_goes_from_cursor_to_cursor():
    made = [create(type="token", data=fresh()).id for _ in range(5)]
    page = tokens.get_v2(size=2)
    found = [token.id for token in page.data]
    while getattr(page.pagination, "next", None):
        page = tokens.get_v2(size=2, start=page.pagination.next)
        found.extend(token.id for token in page.data)
    equal(len(found), len(set(found)))
    assert set(made) <= set(found)


@check
def a_list_goes_from_page_to_page():
    customer = fresh()
    made = [create(type="token", data=fresh(), metadata={"customer": customer}).id
            for _ in range(5)]
    first = tokens.get(metadata={"customer": customer}, page=1, size=3)
    second = tokens.get(metadata={"customer": customer}, page=2, size=3)
    equal([token.id for token in [*first.data, *second.data]], made[::-1])
    equal((first.pagination.total_items, first.pagination.total_pages), (5, 2))
    equal({token.id for token in tokens.get(id=made[:2]).data}, set(made[:2]))
    equal(tokens.get(metadata={"customer": customer}, page=9).data, [])


@check
def a_search_finds_by_index_and_by_metadata():
    value = fresh()
    made = create(type="token", data=value, search_indexes=["{{ data }}"], metadata={"k": value})
    for query in [f"data:{value}", f'metadata.k:"{value}"']:
        equal([token.id for token in search_v2(query).data], [made.id])


@check
def a_search_of_the_first_version_finds_several_terms():
    value = fresh()
    made = create(type="token", data=value, search_indexes=["{{ data }}"],
                  metadata={"one": value, "two": "2"})
    for query in [f"data:{value}", f"id:{made.id}",
                  f'metadata.one:"{value.upper()}" AND metadata.two:2']:
        equal((query, [token.id for token in search(query).data]), (query, [made.id]))
    with raises(ApiException, 400):
        search("type:card")
