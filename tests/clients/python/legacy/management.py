"""Applications, their keys, and the tenant."""

from basistheory.api.applications_api import ApplicationsApi
from basistheory.exceptions import NotFoundException
from basistheory.model.access_rule import AccessRule
from basistheory.model.create_application_request import CreateApplicationRequest
from basistheory.model.update_application_request import UpdateApplicationRequest
from basistheory.model.update_tenant_request import UpdateTenantRequest

from clients import (
    api_client,
    application_keys,
    application_templates,
    applications,
    permissions,
    tenants,
)
from harness import check, equal, raises, server


@check
def an_application_is_made_read_changed_listed_and_deleted():
    rule = AccessRule(description="Cards", priority=1, container="/pci/", transform="mask",
                      permissions=["token:read"])
    made = applications.create(create_application_request=CreateApplicationRequest(
        name="Mine", type="private", rules=[rule]))
    assert made.key.startswith("key_test_self_pvt_")
    read = applications.get_by_id(made.id)
    equal((read.name, read.rules[0].container), ("Mine", "/pci/"))
    changed = applications.update(made.id, update_application_request=UpdateApplicationRequest(
        name="Renamed", permissions=["token:create"]))
    equal((changed.name, changed.permissions), ("Renamed", ["token:create"]))
    page = applications.get(page=1, size=5)
    equal(page.data[0].id, made.id)
    assert page.pagination.total_items >= 1
    equal([it.id for it in applications.get(id=[made.id]).data], [made.id])
    applications.delete(made.id)
    with raises(NotFoundException, 404):
        applications.get_by_id(made.id)


@check
def keys_are_made_listed_and_deleted():
    made = applications.create(create_application_request=CreateApplicationRequest(
        name="Keys", type="private", permissions=["token:create"]))
    second = application_keys.create(made.id)
    assert second.key
    equal({it.id for it in application_keys.get(made.id)},
          {second.id, made.keys[0].id})
    equal(application_keys.get_by_id(made.id, second.id).id, second.id)
    application_keys.delete(made.id, second.id)
    equal(len(application_keys.get(made.id)), 1)


@check
def a_key_finds_its_own_application():
    equal(ApplicationsApi(api_client(server.private)).get_by_key().type, "private")


@check
def permissions_and_templates_are_listed():
    assert any(it.type == "token:create" for it in permissions.get())
    public_ones = permissions.get(application_type="public")
    assert public_ones and all("public" in it.application_types for it in public_ones)
    templates = application_templates.get()
    equal(application_templates.get_by_id(templates[0].id).name, templates[0].name)


@check
def the_tenant_is_read_and_renamed():
    before = tenants.get()
    equal((before.id, before.type), (server.tenant_id, "test"))
    request = UpdateTenantRequest(name="SDK Integration Tests",
                                  settings={"deduplicate_tokens": "false"})
    equal(tenants.update(update_tenant_request=request).name, "SDK Integration Tests")
    equal(tenants.get().settings["deduplicate_tokens"], "false")
    tenants.update(update_tenant_request=UpdateTenantRequest(name=before.name))
