#!/usr/bin/env bash
# The first profile: scripts/demo.sh FATHOM FOLDER. Records the C++ compiler while it compiles demo_input.cpp (an optimised,
# stripped program that starts others, and that every machine that can build fathom has), and draws its flame graph.
set -euo pipefail
fathom=$1
folder=$2
here=$(dirname "$0")
mkdir -p "$folder"

# Recording the whole stack, kernel included, wants rights. Where they can be had without a question, they are used.
record=("$fathom" record)
if [ "$(id -u)" != 0 ] && sudo -n true 2>/dev/null; then
  record=(sudo -n "$fathom" record)
fi

# Without this the compiler collects garbage, marking recursively: a picture of a thousand rows, most of them the same.
no_collection="--param ggc-min-heapsize=1048576"

echo "Recording: g++ -O2 compiles scripts/demo_input.cpp"
rm -f "$folder/demo.fathom"
# shellcheck disable=SC2086  # two words
if ! "${record[@]}" -o "$folder/demo.fathom" -- g++ -std=c++20 -O2 $no_collection -c "$here/demo_input.cpp" -o "$folder/demo.o"; then
  echo "The recording failed. What this machine allows:" >&2
  "$fathom" doctor >&2 || true
  exit 1
fi
[ -r "$folder/demo.fathom" ] || sudo -n chown "$(id -u):$(id -g)" "$folder/demo.fathom"

"$fathom" report "$folder/demo.fathom"
"$fathom" flamegraph "$folder/demo.fathom" -o "$folder/demo.svg" --title "g++ compiles 40 lines"
"$fathom" view "$folder/demo.fathom" --html "$folder/demo.html"

cat <<END

The flame graph: $folder/demo.svg   (open it in a browser; click to zoom, / to search)
The page:        $folder/demo.html   (the same and more over time; drag over a time to select it)
A process of your own:
  $fathom record -p PID -d 10 -o mine.fathom
  $fathom report mine.fathom
  $fathom flamegraph mine.fathom -o mine.svg
  $fathom view mine.fathom
END
