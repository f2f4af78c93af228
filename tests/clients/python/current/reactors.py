"""Reactors, their calls, and proxies whose transforms are programs."""

import time

from basis_theory.errors import NotFoundError, UnprocessableEntityError
from basis_theory.types import Application, ProxyTransform

from clients import client_with
from harness import UUID, check, equal, matches, raises

CODE = "module.exports = async function (req) { return { raw: req.args }; };"
#: What the vendor's programs do that have nothing to do.
UNCHANGED = """
    module.exports = async function (req) {
      // Uses req.configuration.SERVICE_API_KEY.
      return { headers: req.args.headers, body: req.args.body };
    };
"""

verbs = ("create", "read", "update", "delete")
management = client_with(
    permissions=[f"{it}:{verb}" for it in ("reactor", "proxy", "application") for verb in verbs],
    kind="management",
)
reactors = management.reactors
#: Older applications have this permission instead of the one to invoke.
caller = client_with(permissions=["token:use", "token:create"]).reactors


def application():
    made = management.applications.create(
        name="Of a program", type="private", permissions=["token:create", "token:use"]
    )
    return Application(id=made.id)


@check
def a_reactor_is_made_changed_called_and_deleted():
    of = application()
    made = reactors.create(name="One", code=CODE, configuration={"KEY": "1"}, application=of)
    matches(UUID, made.id)
    equal((made.state, made.code, made.application.id), ("active", CODE, of.id))
    code = "module.exports = (req) => ({ raw: { keys: Object.keys(req.configuration) } });"
    changed = reactors.update(
        id=made.id, name="Two", code=code, configuration={"KEY": "1", "NEW": "2"}, application=of
    )
    equal((changed.id, changed.name), (made.id, "Two"))
    equal(reactors.patch(id=made.id, name="Three", configuration={"KEY": "3", "NEW": None}), None)
    equal(reactors.get(made.id).configuration, {"KEY": "3"})
    equal([it.id for it in reactors.list(name="Three").items], [made.id])
    equal(caller.react(id=made.id, request={"args": {"foo": "bar"}}).raw, {"keys": ["KEY"]})
    equal(caller.react(id=made.id, request={}).raw, {"keys": ["KEY"]})
    reactors.delete(id=made.id)
    with raises(NotFoundError, 404):
        reactors.get(id=made.id)
    with raises(NotFoundError, 404):
        caller.react(id=made.id, request={})


@check
def a_program_returns_its_arguments_and_tokens():
    echo = reactors.create(name="Echo", code=CODE, application=application())
    args = {"key1": "a", "nested": {"list": [1, 2.5, None, True, "\u00e9"]}}
    equal(caller.react(id=echo.id, request={"args": args}).raw, args)
    code = "module.exports = (req) => ({ tokenize: { name: req.args.name }, raw: null });"
    maker = reactors.create(name="Maker", code=code, application=application())
    matches(UUID, caller.react(id=maker.id, request={"args": {"name": "Ada"}}).tokens["name"])


@check
def a_program_may_return_its_whole_request_and_need_a_missing_package():
    code = "module.exports = async function (context) {\n  return context;\n};\n"
    whole = reactors.create(name="Whole", code=code, configuration={"TEST_FOO": "hidden"})
    answer = caller.react(id=whole.id, request={"args": {"a": 1}})
    assert "hidden" not in str(answer), answer
    missing = reactors.update(id=whole.id, name="Missing", code='require("abcd");\n' + code)
    equal((missing.state, missing.application), ("active", None))
    broken = reactors.create(name="Broken", code="module.exports = (req) => { // }")
    with raises(UnprocessableEntityError, 422):
        caller.react(id=broken.id, request={})


@check
def a_result_is_not_found_until_it_is_there():
    echo = reactors.create(name="Later", code=CODE)
    asked = caller.react_async(id=echo.id, request={"args": {"foo": "bar"}}).async_reactor_request_id
    matches(UUID, asked)
    ends = time.monotonic() + 60
    while True:
        try:
            result = caller.results.get(echo.id, asked)
            break
        except NotFoundError:
            assert time.monotonic() < ends, "the result did not come"
            time.sleep(0.05)
    equal(result["raw"], {"foo": "bar"})
    with raises(NotFoundError, 404):
        caller.results.get(echo.id, "00000000-0000-4000-8000-000000000000")


@check
def a_proxy_with_programs_is_made_and_changed():
    of = application()
    same = {
        "destination_url": "https://example.com/api",
        "request_transform": ProxyTransform(code=UNCHANGED),
        "response_transform": ProxyTransform(code=UNCHANGED),
        "configuration": {"SERVICE_API_KEY": "key_abcd134"},
        "application": of,
        "require_auth": True,
    }
    made = management.proxies.create(name="Programs", **same)
    equal((made.state, made.request_transform.code), ("active", UNCHANGED))
    equal(management.proxies.update(id=made.id, name="Other", **same).id, made.id)
    management.proxies.patch(
        id=made.id,
        name="Third",
        destination_url="https://example.com/api",
        configuration={"SERVICE_API_KEY": "key_abcd134"},
    )
    read = management.proxies.get(made.id)
    equal((read.name, read.response_transform.code), ("Third", UNCHANGED))
    management.proxies.delete(id=made.id)


@check
def programs_of_the_newer_image_are_stored_with_their_runtime():
    options = {
        "runtime": {
            "image": "node22",
            "dependencies": {"@basis-theory/node-sdk": "4.2.1"},
            "warm_concurrency": 1,
            "timeout": 10,
            "resources": "standard",
            "permissions": ["token:create"],
        }
    }
    code = "module.exports = async function (event) { return { req: event.req }; };"
    transform = ProxyTransform(type="code", code=code, options=options)
    made = management.proxies.create(
        name="Newer", destination_url="https://example.com", request_transforms=[transform]
    )
    read = management.proxies.get(made.id).request_transforms[0]
    equal((made.state, read.type, read.code), ("active", "code", code))
    runtime = read.options.runtime
    equal((runtime.image, runtime.timeout, runtime.resources), ("node22", 10, "standard"))
    equal(runtime.dependencies, {"@basis-theory/node-sdk": "4.2.1"})
    newer = reactors.create(
        name="Newer",
        code="module.exports = async (event) => ({ res: { body: { got: event.req.args } } });",
        runtime=options["runtime"],
    )
    equal(newer.runtime.warm_concurrency, 1)
