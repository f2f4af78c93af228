"""The suite of PyPI's basistheory, which is no longer developed and still in use."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import lists  # noqa: E402, F401
import management  # noqa: E402, F401
import reactors  # noqa: E402, F401
import refusals  # noqa: E402, F401
import tokens  # noqa: E402, F401

import harness  # noqa: E402

harness.run("legacy")
