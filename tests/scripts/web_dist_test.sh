#!/usr/bin/env bash
# The page that is checked in is what `make web` made of the sources that are checked in: web_dist_test.sh WEB_FOLDER
# A new source, which no sum is of, is told too.
set -euo pipefail
cd "$1"
sha256sum --quiet -c dist/SHA256SUMS || { echo "web/dist is not what web/src gives: make web, and commit both"; exit 1; }
for source in src/*; do
  grep -q "  $source\$" dist/SHA256SUMS || { echo "$source came after web/dist was built: make web, and commit both"; exit 1; }
done
