#!/usr/bin/env bash
# Prints the build id of an ELF file: scripts/build-id.sh FILE
set -euo pipefail
LC_ALL=C readelf --notes --wide "$1" | sed -n 's/.*Build ID: \([0-9a-f]\{8,\}\).*/\1/p' | head -n 1 | grep .
