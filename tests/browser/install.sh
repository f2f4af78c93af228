#!/bin/sh
# Installs the packages of the browser tests from npm, pinned, under target/clients/browser, and sees
# whether a Chromium starts on this machine: Debian's, or else the one from npm. A second run with
# the same pins only looks.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
clients=$here/../../target/clients
into=$clients/browser
if ! cmp -s "$here/package.json" "$into/installed.json"; then
    mkdir -p "$clients"
    # Several working copies may share the folder, so it appears whole or not at all.
    fresh=$(mktemp -d "$clients/browser.XXXXXX")
    trap 'rm -rf "$fresh"' EXIT
    cp "$here/package.json" "$fresh/package.json"
    npm install --prefix "$fresh" --silent --no-audit --no-fund --no-package-lock --ignore-scripts --legacy-peer-deps
    cp "$here/package.json" "$fresh/installed.json"
    rm -rf "$into"
    mv -T "$fresh" "$into"
fi
node "$here/starts.js"
