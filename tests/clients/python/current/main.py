"""The suite of PyPI's BasisTheoryClient. The modules are imported for the checks in them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import errors  # noqa: E402, F401
import ids  # noqa: E402, F401
import intents  # noqa: E402, F401
import lists  # noqa: E402, F401
import management  # noqa: E402, F401
import proxies  # noqa: E402, F401
import reactors  # noqa: E402, F401
import repeats  # noqa: E402, F401
import sessions  # noqa: E402, F401
import tokenize_detokenize  # noqa: E402, F401
import tokens  # noqa: E402, F401
import webhooks  # noqa: E402, F401

import harness  # noqa: E402

harness.run("current")
