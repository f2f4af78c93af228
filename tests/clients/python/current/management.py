"""Applications, their keys, and the tenant."""

import re

from basis_theory.errors import (
    ForbiddenError,
    NotFoundError,
    UnauthorizedError,
    UnprocessableEntityError,
)

from clients import client_of, management, private, public
from harness import UUID, check, equal, fresh, matches, raises, server

RULE = {"description": "Cards", "priority": 1, "container": "/pci/", "transform": "mask",
        "permissions": ["token:create", "token:read"]}


@check
def an_application_is_made_read_changed_listed_and_deleted():
    made = management.applications.create(
        name="Mine", type="private", permissions=["token:create", "token:read"]
    )
    matches(UUID, made.id)
    matches(re.compile(r"^key_test_self_pvt_[1-9A-HJ-NP-Za-km-z]{22}\.[0-9a-f]{32}$"), made.key)
    equal((made.name, made.type, made.tenant_id), ("Mine", "private", server.tenant_id))
    equal(set(made.permissions), {"token:create", "token:read"})
    equal(len(made.keys), 1)
    read = management.applications.get(made.id)
    equal((read.id, read.name, read.key), (made.id, "Mine", None))
    # The newest comes first.
    equal(management.applications.list().items[0].id, made.id)
    changed = management.applications.update(made.id, name="Renamed", permissions=["token:read"])
    equal((changed.name, changed.permissions), ("Renamed", ["token:read"]))
    assert changed.modified_at is not None
    management.applications.delete(made.id)
    with raises(NotFoundError, 404):
        management.applications.get(made.id)
    with raises(UnauthorizedError, 401):
        client_of(made.key).tokens.get("anything")


@check
def rules_come_back_as_they_went():
    made = management.applications.create(name="Ruled", type="public", rules=[
        {**RULE, "permissions": ["token:create"]},
    ])
    rule = management.applications.get(made.id).rules[0]
    equal((rule.description, rule.priority, rule.container, rule.transform, rule.permissions),
          ("Cards", 1, "/pci/", "mask", ["token:create"]))
    matches(re.compile(r"^key_test_self_pub_[1-9A-HJ-NP-Za-km-z]{22}$"), made.key)


@check
def an_application_can_be_made_without_a_key():
    made = management.applications.create(
        name="Keyless", type="management", permissions=["application:read"], create_key=False
    )
    equal((made.key, management.application_keys.list(made.id)), (None, []))


@check
def pages_of_applications_end():
    made = {management.applications.create(
        name=f"Listed {n}", type="public", permissions=["token:create"]).id for n in range(5)}
    every = [it.id for it in management.applications.list(size=2)]
    equal(len(every), len(set(every)))
    assert made <= set(every)
    first = management.applications.list(type="management")
    equal({it.type for it in first}, {"management"})
    by_id = management.applications.list(id=sorted(made))
    equal({it.id for it in by_id}, made)
    equal(management.applications.list(page=1000).items, [])


@check
def an_application_has_up_to_three_keys_which_all_work():
    made = management.applications.create(name="Keys", type="private", permissions=["token:create"])
    second = management.application_keys.create(made.id)
    third = management.application_keys.create(made.id)
    for text in [made.key, second.key, third.key]:
        client_of(text).tokens.create(type="token", data=1)
    listed = management.application_keys.list(made.id)
    equal(len(listed), 3)
    equal([it.key for it in listed], [None] * 3)
    with raises(UnprocessableEntityError, 422):
        management.application_keys.create(made.id)
    equal(management.application_keys.get(made.id, second.id).id, second.id)
    management.application_keys.delete(made.id, second.id)
    equal(len(management.application_keys.list(made.id)), 2)
    with raises(UnauthorizedError, 401):
        client_of(second.key).tokens.create(type="token", data=1)
    with raises(NotFoundError, 404):
        management.application_keys.get(made.id, second.id)


@check
def any_key_finds_its_own_application():
    for client, kind in [(private, "private"), (public, "public"), (management, "management")]:
        equal(client.applications.get_by_key().type, kind)


@check
def permissions_are_listed_by_type():
    every = management.permissions.list()
    assert all(it.type and it.description and it.application_types for it in every)
    names = {it.type for it in every}
    assert {"token:create", "token:use", "application:create", "tenant:read"} <= names
    public_ones = management.permissions.list(application_type="public")
    assert public_ones and all("public" in it.application_types for it in public_ones)
    assert len(public_ones) < len(every)


@check
def a_template_makes_an_application():
    templates = management.application_templates.list()
    assert templates
    for listed in templates:
        template = management.application_templates.get(listed.id)
        equal(template, listed)
        assert template.name and template.description and template.application_type
        made = management.applications.create(
            name=template.name, type=template.application_type,
            permissions=template.permissions, rules=template.rules,
        )
        assert made.key
        management.applications.delete(made.id)


@check
def the_tenant_is_read_and_renamed():
    before = management.tenants.self_.get()
    equal((before.id, before.type), (server.tenant_id, "test"))
    name = "SDK Integration Tests"
    settings = {"fingerprint_tokens": "true", "deduplicate_tokens": "false"}
    changed = management.tenants.self_.update(name=name, settings=settings)
    equal(changed.name, name)
    read = management.tenants.self_.get()
    equal((read.name, read.settings["deduplicate_tokens"]), (name, "false"))
    assert read.modified_at is not None
    management.tenants.self_.update(name=before.name, settings=before.settings)


@check
def the_log_is_paged_to_its_end_and_filtered():
    made = private.tokens.create(type="token", data=fresh())
    for _ in range(4):
        private.tokens.get(made.id)
    # Reads are written down in batches, before the log is read at the latest.
    equal(len(list(management.logs.list(entity_id=made.id))), 5)
    private.tokens.delete(made.id)
    # The client asks for page after page until one is empty.
    entries = list(management.logs.list(entity_type="token", entity_id=made.id, size=2))
    equal([entry.operation for entry in entries], ["delete"] + ["read"] * 4 + ["create"])
    newest = entries[0]
    equal((newest.entity_type, newest.message, newest.actor_type),
          ("token", "Token deleted", "application"))
    equal(newest.tenant_id, server.tenant_id)
    equal(len({entry.id for entry in entries}), 6)
    later = management.logs.list(entity_id=made.id, start_date=entries[1].created_at)
    equal([entry.operation for entry in later], ["delete", "read"])
    earlier = management.logs.list(entity_id=made.id, end_date=entries[-2].created_at)
    equal([entry.operation for entry in earlier], ["create"])
    kinds = {kind.value: kind.display_name for kind in management.logs.get_entity_types()}
    equal(kinds["token"], "Token")
    with raises(ForbiddenError, 403):
        private.logs.get_entity_types()
