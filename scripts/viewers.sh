#!/usr/bin/env bash
# Opens fathom's exports in the viewers themselves: speedscope's page in headless Chromium, and the Firefox Profiler's
# command line client, both from the npm registry (into build/viewers; needs npm, node, chromium and a network), and prints
# the report's numbers next to theirs.
#
#   scripts/viewers.sh FATHOM RECORDING
set -euo pipefail
[ $# = 2 ] || { echo "usage: scripts/viewers.sh FATHOM RECORDING" >&2; exit 2; }
fathom=$(realpath "$1")
recording=$(realpath "$2")
cd "$(dirname "$0")/.."
place=$PWD/build/viewers
mkdir -p "$place"
npm install --no-audit --no-fund --prefix "$place" speedscope @firefox-devtools/profiler-cli >"$place/npm.log" 2>&1 ||
  { cat "$place/npm.log" >&2; exit 1; }

give_up() {
  echo "viewers: $1" >&2
  exit 1
}

samples=$("$fathom" report "$recording" --metric cpu --json | node -e '
  let text = ""; process.stdin.on("data", d => text += d).on("end", () => console.log(JSON.parse(text).quality.samples))')
[ "$samples" -gt 0 ] || give_up "$recording has no CPU samples"

# speedscope's own command puts a file into a script that its page loads; so no server is needed.
"$fathom" export "$recording" --metric cpu --to speedscope --force -o "$place/cpu.speedscope.json"
page=$place/node_modules/speedscope/dist/release/index.html
printf 'speedscope.loadFileFromBase64("cpu.speedscope.json", "%s")\n' "$(base64 -w 0 "$place/cpu.speedscope.json")" >"$place/profile.js"
dom=$(chromium --headless --no-sandbox --disable-gpu --allow-file-access-from-files --virtual-time-budget=30000 \
  --dump-dom "file://$page#localProfilePath=$place/profile.js" 2>"$place/chromium.log")
title=$(sed -n 's/.*<title>\([^<]*\)<\/title>.*/\1/p' <<<"$dom" | head -n 1)
case $title in
  *' - speedscope') echo "speedscope: open, \"$title\"" ;;
  *) give_up "speedscope did not open it: title \"$title\"" ;;
esac

client=$place/node_modules/.bin/profiler-cli
"$fathom" export "$recording" --to firefox --force -o "$place/all.json.gz"
session=fathom-$$
"$client" load --session "$session" "$place/all.json.gz" >/dev/null
trap '"$client" stop "$session" >/dev/null 2>&1 || true' EXIT
info=$("$client" profile info --session "$session")
grep -qi thread <<<"$info" || give_up "the Firefox Profiler's client tells no threads: $info"
echo "Firefox Profiler: open"
sed 's/^/  /' <<<"$info" | head -n 15
echo "fathom: $samples samples"
