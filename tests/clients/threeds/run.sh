#!/bin/sh
# Runs the published browser SDK against a development vault, in a headless Chromium. Both come from
# tests/clients/threeds/install.sh. Not part of `cargo test`.
#
#   tests/clients/threeds/run.sh [path of the strongroom program] [directory for screenshots]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../../..
clients=$root/target/clients/threeds
if ! cmp -s "$here/package.json" "$clients/installed.json"; then
    "$here/install.sh"
fi
program=${1:-$(ls -t "$root"/target/*/debug/strongroom "$root"/target/debug/strongroom 2>/dev/null | head -n 1)}
work=$(mktemp -d)
pictures=${2:-$work/pictures}
server=
cleanup() {
    if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
    rm -rf "$work"
}
trap cleanup EXIT INT TERM
mkfifo "$work/ready"
"$program" dev --data "$work/vault" --listen 127.0.0.1:0 --json --rate-limits off \
    >"$work/ready" 2>"$work/log" &
server=$!
read -r ready <"$work/ready"
mkdir -p "$pictures"
# It finds its packages beside itself.
cp "$here/browser.js" "$clients/browser.js"
READY=$ready PICTURES=$pictures node "$clients/browser.js"
