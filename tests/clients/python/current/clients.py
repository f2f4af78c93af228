"""The clients of this suite, made as a program would make them: only the base URL differs."""

from basis_theory import BasisTheory

from harness import server

private = BasisTheory(base_url=server.url, api_key=server.private)
public = BasisTheory(base_url=server.url, api_key=server.public)
management = BasisTheory(base_url=server.url, api_key=server.management)


def client_of(key, **options):
    return BasisTheory(base_url=server.url, api_key=key, **options)


def client_with(rules=None, permissions=None, kind="private"):
    """A client of a new application that may do this much."""
    wanted = {"permissions": permissions} if rules is None else {"rules": rules}
    made = management.applications.create(name="Made for a check", type=kind, **wanted)
    return client_of(made.key)
