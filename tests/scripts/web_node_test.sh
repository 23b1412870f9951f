#!/usr/bin/env bash
# What of the page needs no browser, under Node and without its packages: web_node_test.sh WEB_FOLDER
set -euo pipefail
if ! command -v node >/dev/null; then
  echo "web_node_test: Skipped"
  echo "no Node on this machine (apt-get install nodejs)"
  exit 77
fi
cd "$1"
exec node --test test/*.test.mjs
