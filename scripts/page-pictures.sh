#!/usr/bin/env bash
# Updates the pictures of docs/page.md: scripts/page-pictures.sh build/release
#
# docs/images/page-*.png: the page of a recording of scripts/page_pictures_input.cpp, at three sizes in both themes, and at the
# addresses on its three paths. Needs root, g++, the packages of `scripts/setup-debian.sh pictures`, and a machine that does little
# else; takes half a minute.
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

# picture NAME WIDTH HEIGHT THEME ADDRESS: time goes on for the page until it has been drawn. A window is at least 500 pixels wide, so
# a frame in it has the width of a phone.
picture() {
  local page="file://$folder/db.html#$5" theme=1
  [ "$4" = light ] || theme=0
  if [ "$2" -lt 500 ]; then
    echo "<body style=\"margin:0;overflow:hidden\"><iframe src=\"$page\" style=\"border:0;width:$2px;height:$3px\"></iframe>" >"$folder/frame.html"
    page="file://$folder/frame.html"
  fi
  chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$folder/chromium" --virtual-time-budget=5000 \
    --blink-settings=preferredColorScheme=$theme --window-size="$(($2 < 500 ? 500 : $2)),$3" --screenshot="$folder/shot.png" "$page" >/dev/null 2>&1
  /usr/bin/convert "$folder/shot.png" -crop "$2x$3+0+0" +repage -strip +dither -colors 128 "$images/page-$1.png"
  echo "$images/page-$1.png"
}
for theme in light dark; do
  picture "wide-$theme" 1400 1000 $theme ""
  picture "middle-$theme" 900 800 $theme ""
  picture "phone-$theme" 420 800 $theme ""
done
picture memory 1200 820 light "m=heap-growth&t=2000-6000&v=heap"
picture slow 1200 1000 light "m=cpu&threads=0&heat=cpu&b=1000-3000&t=4000-6000&v=top"
picture waits 1200 820 light "m=off-cpu&t=4000-6000&v=waits&waits=chains&ignore=%28idle:"
picture second-half 1200 820 light "m=cpu&threads=0&b=0-4000&t=6500-10000&fn=db::parse_query"
