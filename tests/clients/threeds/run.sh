#!/bin/sh
# Runs the published browser SDK against a development vault, in a headless Chromium.
#
#   tests/clients/threeds/run.sh [path of the strongroom program] [directory for screenshots]
#
# Packages are installed from npm beside this file the first time. Not part of `cargo test`.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=${1:-$(ls -t "$here"/../../../target/*/debug/strongroom "$here"/../../../target/debug/strongroom 2>/dev/null | head -n 1)}
pictures=${2:-$here/pictures}
work=$(mktemp -d)
server=
cleanup() {
    if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
    rm -rf "$work"
}
trap cleanup EXIT INT TERM
if [ ! -d "$here/node_modules" ]; then
    (cd "$here" && npm install --no-audit --no-fund --no-package-lock)
fi
mkfifo "$work/ready"
"$program" dev --data "$work/vault" --listen 127.0.0.1:0 --json --rate-limits off \
    >"$work/ready" 2>"$work/log" &
server=$!
read -r ready <"$work/ready"
mkdir -p "$pictures"
READY=$ready PICTURES=$pictures node "$here/browser.js"
