"""Runs examples in one process, each with its variables, and prints how each ended.

Usage: run.py JOBS, a file with a list of {"variables", "code"}.
"""

import contextlib
import io
import json
import os
import sys

ends = []
with open(sys.argv[1]) as file:
    jobs = json.load(file)
for job in jobs:
    os.environ.update(job["variables"])
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(job["code"], "example.py", "exec"), {"__name__": "__main__"})
        ends.append({"ok": True, "out": out.getvalue()})
    except Exception as error:
        ends.append({"ok": False, "out": repr(error)})
json.dump(ends, sys.stdout)
