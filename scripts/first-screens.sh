#!/usr/bin/env bash
# Updates the output in docs/first-screens/: scripts/first-screens.sh build/release
#
# Records each of the ten programs of tests/truth/first_screens.cpp as tests/first_screen_test.cpp does, and puts the report
# behind the line "$ fathom report" of its page. The text around it is written by hand: read it again afterwards. Takes a
# minute, as root, on a machine that does nothing else.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:?usage: scripts/first-screens.sh BUILD_FOLDER [NAME ...]}")
shift
fathom=$build/src/cli/fathom
pages=$PWD/docs/first-screens
echo -20 2>/dev/null >/proc/self/autogroup || true # what else runs should not show
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$build/tests/truth/first_screens" "$folder"
cd "$folder"
export PATH=$folder:$PATH COLUMNS=100

# record NAME OPTION ...
record() {
  local name=$1
  shift
  "$fathom" record -o "$name.fathom" "$@" >/dev/null 2>&1 || [ $? -eq 5 ] # 5: something was never freed
}

for name in ${*:-regex churn recursion chase thrash convoy starve sync idle leak}; do
  case $name in
    idle)
      first_screens idle 60 >/dev/null &
      target=$!
      sleep 0.5
      record idle -d 5 -p "$target"
      kill "$target"
      wait "$target" || true
      ;;
    leak) record leak --leaks -- first_screens leak 40 ;;
    # It sleeps and wakes thousands of times a second: next to busy programs it would wait for them each time.
    sync) chrt --rr 1 "$fathom" record -o sync.fathom -- first_screens sync 3 >/dev/null 2>&1 ;;
    *) record "$name" -- first_screens "$name" 3 ;;
  esac
  "$fathom" report "$name.fathom" >"$name.txt"
  awk -v output="$name.txt" '
    skipping && /^```/ { skipping = 0 }
    !skipping { print }
    /^\$ fathom report [a-z]+\.fathom$/ {
      while ((getline line < output) > 0) print line
      close(output)
      skipping = 1
    }' "$pages/$name.md" >"$name.md"
  cat "$name.md" >"$pages/$name.md"
  echo "$name: $(head -1 "$name.txt")"
done
