"""Pre-configured proxies."""

import re

from basis_theory.errors import NotFoundError
from basis_theory.types import ProxyTransform

from clients import client_with
from harness import UUID, check, equal, matches, raises, server

MASK = ProxyTransform(type="mask", matcher="regex", expression=r"(\d{12})\d{4}", replacement="*")

proxies = client_with(
    permissions=["proxy:create", "proxy:read", "proxy:update", "proxy:delete"], kind="management"
).proxies


@check
def a_proxy_is_made_read_changed_listed_and_deleted():
    made = proxies.create(
        name="Charge",
        destination_url="https://psp.example/v1",
        configuration={"secret": "one"},
        response_transforms=[MASK],
    )
    matches(UUID, made.id)
    matches(re.compile(r"^[0-9A-Za-z]{22}$"), made.key)
    equal((made.state, made.require_auth, made.tenant_id), ("active", True, server.tenant_id))
    equal(made.response_transforms[0].expression, MASK.expression)
    equal(proxies.get(made.id), made)
    equal(proxies.list(name="Cha*").items[0].id, made.id)
    changed = proxies.update(made.id, name="Other", destination_url="https://other.example")
    equal((changed.key, changed.name, changed.configuration), (made.key, "Other", {}))
    equal(proxies.patch(made.id, configuration={"a": "1", "b": "2"}), None)
    proxies.patch(made.id, configuration={"a": None}, require_auth=False)
    read = proxies.get(made.id)
    equal((read.configuration, read.require_auth, read.name), ({"b": "2"}, False, "Other"))
    proxies.delete(made.id)
    with raises(NotFoundError, 404):
        proxies.get(made.id)
