"""Reactors, which the older client knows too."""

from basistheory.api.reactors_api import ReactorsApi
from basistheory.model.application import Application
from basistheory.model.create_reactor_request import CreateReactorRequest
from basistheory.model.patch_reactor_request import PatchReactorRequest
from basistheory.model.react_request import ReactRequest
from basistheory.model.react_request_async import ReactRequestAsync
from basistheory.model.update_reactor_request import UpdateReactorRequest

from clients import api_client, applications
from basistheory.exceptions import NotFoundException
from basistheory.model.create_application_request import CreateApplicationRequest
from harness import UUID, check, equal, matches, raises

CODE = "module.exports = async function (req) { return { raw: req.args }; };"


def client(permissions, kind):
    made = applications.create(create_application_request=CreateApplicationRequest(
        name="Made for a check", type=kind, permissions=permissions))
    return ReactorsApi(api_client(made.key))


reactors = client([f"reactor:{it}" for it in ("create", "read", "update", "delete")], "management")


@check
def a_reactor_is_made_changed_called_and_deleted():
    caller = client(["token:use"], "private")
    of = applications.create(create_application_request=CreateApplicationRequest(
        name="Of a program", type="private", permissions=["token:use"]))
    made = reactors.create(create_reactor_request=CreateReactorRequest(
        name="One", code=CODE, configuration={"A": "1"}, application=Application(id=of.id)))
    matches(UUID, made.id)
    changed = reactors.update(made.id, update_reactor_request=UpdateReactorRequest(
        name="Two", code=CODE, configuration={"A": "1", "B": "2"}))
    equal((changed.id, changed.name), (made.id, "Two"))
    reactors.patch(made.id, patch_reactor_request=PatchReactorRequest(name="Three"))
    equal(reactors.get_by_id(made.id).name, "Three")
    equal([it.id for it in reactors.get(name="Three").data], [made.id])
    request = ReactRequest(args={"key1": "a", "key2": "b"})
    equal(caller.react(made.id, react_request=request).raw, {"key1": "a", "key2": "b"})
    # This client drops the id of the result.
    caller.react_async(made.id, react_request_async=ReactRequestAsync(args={}))
    reactors.delete(made.id)
    with raises(NotFoundException, 404):
        reactors.get_by_id(made.id)
