#!/usr/bin/env bash
# Makes docs/gallery.md's outputs and every picture of the documentation: scripts/gallery.sh build/release [PART ...]
#
# PART: the name of a story (regex, churn ...), `stories` (all ten), `page` (docs/page.md) or `readme` (README.md); default: all.
# The stories are the programs of tests/truth/first_screens.cpp, recorded as tests/first_screen_test.cpp does; the text around their
# outputs is written by hand, so read it again afterwards. With ANVIL=PATH (the npm package @foundry-rs/anvil-linux-amd64 holds it),
# `readme` draws anvil under JSON-RPC load. What talks, talks to 127.0.0.1. Needs root, g++, the packages of
# `scripts/setup-debian.sh pictures`, and a machine that does little else; takes five minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
# shellcheck source=scripts/rpc-calls.sh
. scripts/rpc-calls.sh
build=$(realpath "${1:?usage: scripts/gallery.sh BUILD_FOLDER [PART ...]}")
shift
fathom=$build/src/cli/fathom
images=$root/docs/images
stories=(regex churn recursion chase thrash convoy starve sync idle leak)
echo -20 2>/dev/null >/proc/self/autogroup || true # what else runs should not show
folder=$(mktemp -d)
started=()
cleanup() {
  for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
  wait
  rm -rf "$folder"
}
trap cleanup EXIT
cp "$build/tests/truth/first_screens" tests/truth/first_screens.cpp "$folder" 2>/dev/null || true
cd "$folder"
export PATH=$folder:$PATH COLUMNS=100

# shot URL WIDTH HEIGHT THEME PNG: as a reader sees it. Time goes on for the page until it has been drawn. A window is at least 500
# pixels wide, so a frame in it has the width of a phone, or of a picture that would stand in the middle of a window.
shot() {
  local theme=1
  [ "$4" = light ] || theme=0
  echo "<body style=\"margin:0;overflow:hidden\"><iframe src=\"$1\" style=\"border:0;width:$2px;height:$3px\"></iframe>" >frame.html
  chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$folder/chromium" \
    --virtual-time-budget=8000 --blink-settings=preferredColorScheme=$theme \
    --window-size="$(($2 < 500 ? 500 : $2)),$(($3 + 200))" --screenshot="$folder/shot.png" "file://$folder/frame.html" >/dev/null 2>&1
  convert shot.png -crop "$2x$3+0+0" +repage -strip +dither -colors 200 -define png:compression-level=9 "$images/$5"
  echo "docs/images/$5: $(($(stat -c %s "$images/$5") / 1024)) KB"
}
# picture SVG PNG: in its own height.
picture() {
  local height
  height=$(sed -n 's/^<svg .* height="\([0-9]*\).*/\1/p' "$1" | head -1)
  shot "file://$folder/$1" 1200 "$height" light "$2"
}
# page NAME ADDRESS WIDTH HEIGHT THEME PNG
page() { shot "file://$folder/$1.html#$2" "$3" "$4" "$5" "$6"; }

# record NAME OPTION ...
record() {
  local name=$1
  shift
  "$fathom" record -o "$name.fathom" "$@" >/dev/null 2>&1 || [ $? -eq 5 ] # 5: something was never freed
}

record_story() {
  case $1 in
    idle)
      first_screens idle 60 >/dev/null &
      started+=($!)
      sleep 0.5
      record idle -d 5 -p "${started[-1]}"
      kill "${started[-1]}"
      ;;
    leak) record leak --leaks -- first_screens leak 40 ;;
    # It sleeps and wakes thousands of times a second: next to busy programs it would wait for them each time.
    sync) chrt --rr 1 "$fathom" record -o sync.fathom -- first_screens sync 3 >/dev/null 2>&1 ;;
    *) record "$1" -- first_screens "$1" 3 ;;
  esac
}

draw_story() {
  case $1 in
    convoy | sync) "$fathom" flamegraph "$1.fathom" --metric off-cpu --no-threads -o "$1.svg" 2>/dev/null ;;
    starve) "$fathom" flamegraph starve.fathom --metric wall --no-threads -o starve.svg 2>/dev/null ;;
    leak) "$fathom" timeline leak.fathom -o leak.svg 2>/dev/null ;;
    chase | thrash | idle) "$fathom" view "$1.fathom" --html "$1.html" --with-source 2>/dev/null ;;
    *) "$fathom" flamegraph "$1.fathom" -o "$1.svg" 2>/dev/null ;;
  esac
  case $1 in
    chase) page chase "m=cpu&threads=0&v=callers&fn=Graph::walk()&lanes=0" 1200 960 light gallery-chase.png ;;
    thrash) page thrash "m=cpu&threads=0&x=kernel" 1200 780 light gallery-thrash.png ;;
    idle) page idle "m=off-cpu&threads=0&v=threads" 1200 400 light gallery-idle.png ;;
    *) picture "$1.svg" "gallery-$1.png" ;;
  esac
}

# The report replaces what stands behind its command in the story's part of the page.
write_story() {
  "$fathom" report "$1.fathom" >"$1.txt"
  awk -v command="\$ fathom report $1.fathom" -v output="$1.txt" '
    skipping && /^```/ { skipping = 0 }
    !skipping { print }
    $0 == command {
      while ((getline line < output) > 0) print line
      close(output)
      skipping = 1
    }' "$root/docs/gallery.md" >gallery.md
  cat gallery.md >"$root/docs/gallery.md"
  echo "$1: $(head -1 "$1.txt")"
}

make_page() {
  cp "$root/scripts/gallery_page.cpp" db.cpp
  g++ -std=c++20 -O2 -g -ffile-prefix-map="$folder=" -o db "$folder/db.cpp"
  # It works a fifth of the time: next to busy programs it would wait for them.
  chrt --rr 1 "$fathom" record -o db.fathom --cpu --off-cpu --memory --heap -- ./db >/dev/null 2>&1
  "$fathom" view db.fathom --html db.html
  local theme
  for theme in light dark; do
    page db "" 1400 1000 $theme "page-wide-$theme.png"
    page db "" 900 800 $theme "page-middle-$theme.png"
    page db "" 420 800 $theme "page-phone-$theme.png"
  done
  page db "m=heap-growth&t=2000-6000&v=heap" 1200 820 light page-memory.png
  page db "m=cpu&threads=0&heat=cpu&b=1000-3000&t=4000-6000&v=top" 1200 1000 light page-slow.png
  page db "m=off-cpu&t=4000-6000&v=waits&waits=chains&ignore=%28idle:" 1200 820 light page-waits.png
  page db "m=cpu&threads=0&b=0-4000&t=6500-10000&fn=db::parse_query" 1200 820 light page-second-half.png
}

make_timeline() {
  local port=$((20000 + RANDOM % 10000)) server
  (exec -a redis-server redis-check-rdb --bind 127.0.0.1 --port "$port" --save '' >/dev/null) &
  server=$!
  started+=($server)
  sleep 1
  redis() { redis-benchmark -h 127.0.0.1 -p "$port" -q "$@" >/dev/null; }
  (
    sleep 2 # after the tracing has begun
    redis -n 60000 -r 60000 -d 300 SET key:__rand_int__ value
    redis -n 60000 -r 3000 -d 100 -t lpush
    redis-cli -h 127.0.0.1 -p "$port" flushall >/dev/null
    redis -n 60000 -r 60000 -d 100 -t hset,sadd
    redis -n 40000 -r 40000 -d 300 SET key:__rand_int__ value
  ) &
  started+=($!)
  record redis --heap=exact -p "$server" -d 8
  "$fathom" timeline redis.fathom --title "redis-server under load: live heap over time, by function" -o timeline.svg
  picture timeline.svg timeline.png
}

make_flamegraph() {
  [ -n "${ANVIL:-}" ] || { echo "ANVIL is not set: docs/images/flamegraph.png stays as it is"; return; }
  local port=$((30000 + RANDOM % 10000)) server
  "$ANVIL" --host 127.0.0.1 --port "$port" --silent &
  server=$!
  started+=($server)
  sleep 3
  write_rpc_calls calls.json
  (
    end=$((SECONDS + 26))
    while [ $SECONDS -lt $end ]; do
      post_rpc_calls calls.json "http://127.0.0.1:$port" || break
    done
  ) &
  started+=($!)
  record anvil --cpu -p "$server" -d 22
  "$fathom" flamegraph anvil.fathom --title "anvil, an Ethereum node in Rust, under JSON-RPC load" -o flamegraph.svg
  picture flamegraph.svg flamegraph.png
}

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(stories page readme)
for part in "${parts[@]}"; do
  case $part in
    stories) for name in "${stories[@]}"; do record_story "$name" && write_story "$name" && draw_story "$name"; done ;;
    page) make_page ;;
    readme) make_timeline && make_flamegraph ;;
    *)
      [[ " ${stories[*]} " == *" $part "* ]] || { echo "there is no part '$part'" >&2; exit 2; }
      record_story "$part" && write_story "$part" && draw_story "$part"
      ;;
  esac
done
