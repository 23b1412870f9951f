#!/usr/bin/env bash
# The checked-in page is what `make web` makes from the checked-in sources: web_dist_test.sh WEB_FOLDER
# Also reports a new source without a sum.
set -euo pipefail
cd "$1"
sha256sum --quiet -c dist/SHA256SUMS || { echo "web/dist is not what web/src gives: make web, and commit both"; exit 1; }
for source in src/* svg/*; do
  grep -q "  $source\$" dist/SHA256SUMS || { echo "$source came after web/dist was built: make web, and commit both"; exit 1; }
done
