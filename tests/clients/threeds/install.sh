#!/bin/sh
# Installs the published browser SDK and a headless Chromium from npm, pinned, under
# target/clients/threeds, and sees whether that Chromium starts on this machine. A second run with
# the same pins only looks.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
into=$here/../../../target/clients/threeds
mkdir -p "$into"
if ! cmp -s "$here/package.json" "$into/installed.json"; then
    rm -rf "$into"
    mkdir -p "$into"
    cp "$here/package.json" "$into/package.json"
    npm install --prefix "$into" --silent --no-audit --no-fund --no-package-lock --ignore-scripts
    cp "$here/package.json" "$into/installed.json"
fi
cd "$into"
"$(node --input-type=module --eval \
    'import chromium from "@sparticuz/chromium"; console.log(await chromium.executablePath())')" \
    --headless --no-sandbox --version
