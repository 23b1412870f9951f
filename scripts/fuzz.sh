#!/usr/bin/env bash
# Runs every fuzz target on its seeds for a while, one process per CPU at a time: scripts/fuzz.sh BUILD_FOLDER SECONDS.
# Fails when any of them crashed, and says which input did it.
set -euo pipefail
build=$(realpath "$1")
seconds=$2
seeds=$(realpath "$(dirname "$0")/../fuzz/seeds")
work=$build/corpus
mkdir -p "$work"

fuzz_one() {
  local target=$1 seconds=$2 seeds=$3 work=$4 name status=0
  name=$(basename "$target" _fuzz)
  mkdir -p "$work/$name" "$work/$name.found"
  local inputs=("$work/$name")
  [ -d "$seeds/$name" ] && inputs+=("$seeds/$name")
  # A recording of any size may take 64 MiB and 1 KiB for each of its bytes (docs/format.md); inputs are far below 256 KiB.
  local memory=2048 timeout=10
  [ "$name" = recording ] && memory=768 timeout=5
  "$target" -max_total_time="$seconds" -timeout="$timeout" -rss_limit_mb="$memory" -print_final_stats=1 \
    -artifact_prefix="$work/$name.found/" "${inputs[@]}" >"$work/$name.log" 2>&1 || status=$?
  local runs
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$name.log")
  if [ $status = 0 ]; then
    printf '  %-20s %12s runs, nothing found\n' "$name" "${runs:-0}"
  else
    printf '  %-20s FAILED (status %s): %s\n' "$name" "$status" "$work/$name.log"
    grep -E 'ERROR|runtime error|Test unit written|ALARM' "$work/$name.log" | head -n 5 | sed 's/^/    /'
    return 1
  fi
}
export -f fuzz_one

targets=$(find "$build" -maxdepth 2 -name '*_fuzz' -type f -perm -u+x | sort)
[ -n "$targets" ] || { echo "fuzz: no target was built in $build" >&2; exit 1; }
echo "fuzzing $(wc -l <<<"$targets") targets, ${seconds} s each:"
xargs -P "$(nproc)" -I '{}' bash -c 'fuzz_one "$@"' _ '{}' "$seconds" "$seeds" "$work" <<<"$targets"
