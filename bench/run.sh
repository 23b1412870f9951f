#!/usr/bin/env bash
# Runs the benchmarks of BUILD_FOLDER and prints what docs/performance.md shows: bench/run.sh BUILD_FOLDER [QUESTION...].
# ROUNDS (5) and SECONDS_PER_RUN (3) say how long; progress goes to standard error.
set -euo pipefail
build=$1
shift
questions=("${@:-one_thread redis anvil stop_to_svg}")
# shellcheck disable=SC2206  # the default is a list of words
questions=(${questions[*]})

declare -A titles=(
  [one_thread]="A program of one thread"
  [redis]="A saturated server: redis-server and redis-benchmark on two cores"
  [anvil]="A Rust node: anvil under JSON-RPC load"
  [stop_to_svg]="From the request to stop to the picture"
)

command -v perf >/dev/null || { echo "bench: perf is needed, to have something to compare with" >&2; exit 1; }
results=$build/results.md
{
  printf '%s, kernel %s, %s CPUs (%s), %s; %s rounds of %s s\n\n' \
    "$(. /etc/os-release && echo "$PRETTY_NAME")" "$(uname -r | cut -d- -f1)" "$(nproc)" \
    "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" "$(perf --version)" "${ROUNDS:-5}" "${SECONDS_PER_RUN:-3}"
  for question in "${questions[@]}"; do
    echo "bench: $question" >&2
    printf '### %s\n\n' "${titles[$question]}"
    "$build/bench/bench_$question"
  done
} | tee "$results"
echo "bench: the same text is in $results" >&2
