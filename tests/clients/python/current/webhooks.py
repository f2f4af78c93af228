"""Webhooks."""

from basis_theory.errors import BadRequestError, NotFoundError

from clients import client_with
from harness import UUID, check, equal, matches, raises, server

client = client_with(
    permissions=["webhooks:create", "webhooks:read", "webhooks:update", "webhooks:delete"],
    kind="management",
)
webhooks = client.webhooks


@check
def a_webhook_is_made_read_changed_listed_and_deleted():
    made = webhooks.create(
        name="Shop",
        url="https://shop.example/hook",
        events=["token.created", "token.deleted"],
        notify_email="ops@shop.example",
    )
    matches(UUID, made.id)
    equal((made.status, made.tenant_id), ("enabled", server.tenant_id))
    equal(sorted(made.events), ["token.created", "token.deleted"])
    equal(webhooks.get(made.id), made)
    assert made.id in [it.id for it in webhooks.list().data]
    changed = webhooks.update(
        made.id, name="Other", url="https://shop.example/other", events=["token.read"]
    )
    equal((changed.name, changed.events, changed.notify_email), ("Other", ["token.read"], None))
    webhooks.delete(made.id)
    with raises(NotFoundError, 404):
        webhooks.get(made.id)


@check
def events_have_their_published_names():
    names = client.webhooks.events.list()
    for name in ["token.created", "3ds.session.authenticated", "proxy.invoked"]:
        assert name in names, name
    with raises(BadRequestError, 400):
        webhooks.create(name="Wrong", url="https://shop.example", events=["token.melted"])


@check
def the_server_answers_a_ping():
    equal(webhooks.ping(), None)
