"""Ids that the caller chooses."""

from basis_theory.errors import ConflictError

from clients import private
from harness import check, equal, fresh, raises

ONCE = {"max_retries": 0}


@check
def a_predefined_id_with_odd_characters_is_read_changed_and_deleted():
    tail = fresh()
    for odd in ["a@b", "a:b", "a;b", "a,b", "a$b", "a!b", "a b", "a.b", "a~b", "a'b", "(a)*b",
                "\u00e9t\u00e9", "a\"b", "a`b", "UPPER lower"]:
        wanted = f"{odd}-{tail}"
        created = private.tokens.create(id=wanted, type="token", data={"n": 1})
        equal(created.id, wanted)
        equal(private.tokens.get(wanted).id, wanted)
        equal(private.tokens.update(wanted, data={"n": 2}).data, {"n": 2})
        equal(private.tokens.get(wanted).data, {"n": 2})
        private.tokens.delete(wanted)


@check
def a_taken_id_is_a_conflict():
    wanted = fresh("id")
    private.tokens.create(id=wanted, type="token", data=1)
    with raises(ConflictError, 409) as caught:
        private.tokens.create(id=wanted, type="token", data=2, request_options=ONCE)
    equal(caught[0].body.status, 409)
    equal(private.tokens.get(wanted).data, 1)
