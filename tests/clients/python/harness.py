"""What the two Python suites share: the servers, the checks and how they are counted.

A check is a function whose name is a sentence. Each stands alone: none needs what another left
behind, and none sleeps but to wait for the result of a program.
"""

import json
import os
import re
import socket
import ssl
import sys
import traceback
import uuid
from contextlib import contextmanager
from urllib.parse import urlsplit

CARD = {"number": "4242424242424242", "expiration_month": 12, "expiration_year": 2030, "cvc": "123"}
LETTERS = str.maketrans("0123456789", "ghijklmnop")
UUID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
FINGERPRINT = re.compile(r"^[A-Za-z0-9]{20,100}$")

_checks = []


class Server:
    """What a development server says of itself when it is ready."""

    def __init__(self, variable):
        ready = json.loads(os.environ[variable])
        self.url = ready["url"]
        self.ca = ready["ca"]
        self.tenant_id = ready["tenant_id"]
        self.private = ready["keys"]["private"]
        self.public = ready["keys"]["public"]
        self.management = ready["keys"]["management"]


server = Server("STRONGROOM_READY")
limited = Server("STRONGROOM_READY_LIMITED")


def check(function):
    _checks.append(function)
    return function


def run(suite):
    passed, failed = 0, 0
    for function in _checks:
        name = function.__name__.replace("_", " ")
        try:
            function()
            passed += 1
        except Exception:
            failed += 1
            print(f"{suite}: FAILED: {name}")
            traceback.print_exc(file=sys.stdout)
    print(f"{suite}: {passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


def status_of(error):
    """The one client says `status_code`, the other `status`."""
    return getattr(error, "status_code", None) or getattr(error, "status", None)


def equal(found, expected):
    assert found == expected, f"found {found!r}, expected {expected!r}"


def matches(pattern, text):
    assert pattern.match(text), f"{text!r} does not match {pattern.pattern}"


@contextmanager
def raises(kind, status):
    """The block must raise exactly this class, with this status. The caught one is yielded in a
    list, to look at its body."""
    caught = []
    try:
        yield caught
    except kind as error:
        found = (type(error), status_of(error))
        assert found == (kind, status), f"found {found}, expected {(kind, status)}"
        caught.append(error)
        return
    raise AssertionError(f"nothing was raised, expected {kind.__name__}")


def fresh(text="value"):
    """A value that no other check has stored.

    It has no digits of its own: the server refuses an id with the digits of a card number, and a
    random UUID has such digits once in a few hundred.
    """
    return f"{text}-{uuid.uuid4().hex.translate(LETTERS)}"


class HeldRequest:
    """A POST whose headers the server has taken and whose body has not been sent yet.

    The server says `100 Continue` when it begins to read the body, and by then the request holds
    its idempotency key.
    """

    def __init__(self, path, body, idempotency_key):
        address = urlsplit(server.url)
        context = ssl.create_default_context(cafile=server.ca)
        plain = socket.create_connection((address.hostname, address.port), timeout=30)
        self._socket = context.wrap_socket(plain, server_hostname=address.hostname)
        self._body = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {address.netloc}\r\nBT-API-KEY: {server.private}\r\n"
            f"BT-IDEMPOTENCY-KEY: {idempotency_key}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(self._body)}\r\nExpect: 100-continue\r\n"
            "Connection: close\r\n\r\n"
        )
        self._socket.sendall(head.encode())
        self._reader = self._socket.makefile("rb")
        line = self._reader.readline()
        assert b" 100 " in line, line
        self._reader.readline()

    def finish(self):
        """Sends the body and gives the status and the parsed answer."""
        self._socket.sendall(self._body)
        status = int(self._reader.readline().split()[1])
        while self._reader.readline() not in (b"\r\n", b""):
            pass
        answer = json.loads(self._reader.read())
        self._socket.close()
        return status, answer
