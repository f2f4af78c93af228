#!/bin/sh
# Tries the pages of the program in a headless Chromium. Packages come from tests/browser/install.sh.
# Not part of `cargo test`.
#
#   tests/browser/run.sh [strongroom program] [directory for pictures] [scenario ...]
#
# "-" stands for the newest development build, and for no pictures. Without names, the unit tests of
# the scripts and all scenarios run. With BROWSER=firefox, scenarios with a core run that in Debian's
# firefox-esr.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
if ! cmp -s "$here/package.json" "$root/target/clients/browser/installed.json"; then
    "$here/install.sh"
fi
program=${1:--}
pictures=${2:--}
if [ $# -gt 2 ]; then shift 2; else set --; fi
if [ "$program" = - ]; then
    program=$(ls -t "$root"/target/*/debug/strongroom "$root"/target/debug/strongroom 2>/dev/null | head -n 1)
fi
if [ -z "$program" ]; then
    echo 'There is no development build. Run cargo build first.' >&2
    exit 1
fi
if [ "$pictures" = - ]; then pictures=; else mkdir -p "$pictures"; fi
if [ $# -eq 0 ]; then
    set -- "$here"/unit/*.test.js
    if [ -e "$1" ]; then node --test "$@"; fi
    set --
fi
PROGRAM=$program PICTURES=$pictures exec node "$here/main.js" "$@"
