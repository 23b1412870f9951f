#!/usr/bin/env bash
# Updates the pictures of docs/page.md: scripts/page-pictures.sh build/release
#
# docs/images/page-*.png: the page of a recording of scripts/page_pictures_input.cpp, at the addresses on its three paths. Needs root,
# g++, the packages of `scripts/setup-debian.sh pictures`, and a machine that does little else; takes half a minute.
set -euo pipefail
cd "$(dirname "$0")/.."
fathom=$(realpath "${1:?usage: scripts/page-pictures.sh BUILD_FOLDER}")/src/cli/fathom
images=$PWD/docs/images
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp scripts/page_pictures_input.cpp "$folder/db.cpp"
cd "$folder"
g++ -std=c++20 -O2 -g -ffile-prefix-map="$folder=" -o db "$folder/db.cpp"
"$fathom" record --cpu --off-cpu --memory --heap -o db.fathom -- ./db
"$fathom" view db.fathom --html db.html

# picture NAME HEIGHT ADDRESS: in a window 1200 pixels wide. Time goes on for the page until it has been drawn.
picture() {
  chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$folder/chromium" --virtual-time-budget=5000 \
    --window-size="1200,$2" --screenshot="$folder/shot.png" "file://$folder/db.html#$3" >/dev/null 2>&1
  /usr/bin/convert "$folder/shot.png" -strip +dither -colors 128 "$images/page-$1.png"
  echo "$images/page-$1.png"
}
picture memory 820 "m=heap-growth&t=2000-6000&v=heap"
picture slow 1000 "m=cpu&threads=0&heat=cpu&b=1000-3000&t=4000-6000&v=top"
picture waits 820 "m=off-cpu&t=4000-6000&v=waits&waits=chains&ignore=%28idle:"
picture second-half 820 "m=cpu&threads=0&b=0-4000&t=6500-10000&fn=db::parse_query"
