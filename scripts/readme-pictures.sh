#!/usr/bin/env bash
# Updates the pictures of README.md: scripts/readme-pictures.sh build/release [ANVIL]
#
# docs/images/flamegraph.png: anvil (the npm package @foundry-rs/anvil-linux-amd64 holds it) under JSON-RPC load; without a
# path to it the picture stays. docs/images/timeline.png: the heap of redis-server (package redis-tools) under load. Both
# talk to 127.0.0.1 only. Needs root, the packages of `scripts/setup-debian.sh pictures`, and a machine that does little
# else; takes a minute.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rpc-calls.sh
fathom=$(realpath "${1:?usage: scripts/readme-pictures.sh BUILD_FOLDER [ANVIL]}")/src/cli/fathom
anvil=${2:-}
images=$PWD/docs/images
echo -20 2>/dev/null >/proc/self/autogroup || true # what else runs should not show
folder=$(mktemp -d)
started=()
cleanup() {
  for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
  wait
  rm -rf "$folder"
}
trap cleanup EXIT
cd "$folder"

# picture SVG PNG: as a reader sees it in a window 1200 pixels wide. In a frame of its own height it neither scrolls nor
# stands in the middle of a window.
picture() {
  local height
  height=$(sed -n 's/^<svg .* height="\([0-9]*\).*/\1/p' "$1" | head -1)
  printf '<body style="margin:0"><iframe src="%s" width="1200" height="%s" style="border:0"></iframe>' "$1" "$height" >page.html
  chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$folder/chromium" \
    --window-size="1200,$((height + 200))" --screenshot="$folder/shot.png" "file://$folder/page.html" >/dev/null 2>&1
  /usr/bin/convert "$folder/shot.png" -crop "1200x$height+0+0" +repage -strip "$2"
  echo "$2"
}

port=$((20000 + RANDOM % 10000))
(exec -a redis-server redis-check-rdb --bind 127.0.0.1 --port "$port" --save '' >/dev/null) &
started+=($!)
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
"$fathom" record --heap=exact -p "${started[0]}" -d 8 -o redis.fathom
"$fathom" timeline redis.fathom --title "redis-server under load: live heap over time, by function" -o timeline.svg
picture timeline.svg "$images/timeline.png"

[ -n "$anvil" ] || exit 0
port=$((port + 1))
"$anvil" --host 127.0.0.1 --port "$port" --silent &
started+=($!)
sleep 3
write_rpc_calls calls.json
(
  end=$((SECONDS + 26))
  while [ $SECONDS -lt $end ]; do
    post_rpc_calls calls.json "http://127.0.0.1:$port" || break
  done
) &
"$fathom" record --cpu -p "${started[1]}" -d 22 -o anvil.fathom
"$fathom" flamegraph anvil.fathom --title "anvil, an Ethereum node in Rust, under JSON-RPC load" -o flamegraph.svg
picture flamegraph.svg "$images/flamegraph.png"
