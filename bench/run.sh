#!/usr/bin/env bash
# Runs the benchmarks of BUILD_FOLDER and prints the tables of docs/performance.md: bench/run.sh BUILD_FOLDER
# [QUESTION...]. ROUNDS (5) and SECONDS_PER_RUN (3) set the duration, SEED repeats an order; progress goes to
# standard error.
set -euo pipefail
build=$1
shift
questions=("${@:-one_thread redis anvil switches threads heap_pairs heap_jobs heap_answer memory_sources start end stop_to_svg unwind_table readers}")
# shellcheck disable=SC2206  # the default is a list of words
questions=(${questions[*]})

declare -A titles=(
  [one_thread]="A program of one thread"
  [redis]="A saturated server: redis-server and redis-benchmark on two cores"
  [anvil]="A Rust node: anvil under JSON-RPC load"
  [switches]="Nothing but switches: two threads on one CPU and two pipes"
  [heap_pairs]="The heap of a program that only allocates"
  [heap_jobs]="Real programs with every allocation recorded"
  [heap_answer]="From the end of the program to an answer about its heap"
  [threads]="300 threads: 270 parked, 20 that tick, five pairs that hand work to each other"
  [start]="What it costs to begin and to end a recording"
  [memory_sources]="What it costs to read what memory consists of, and how long the target waits for it"
  [end]="From the end of the program to the end of the recorder"
  [stop_to_svg]="From the request to stop to the picture"
  [readers]="From the file of another tool to an answer"
  [unwind_table]="Making unwind tables, beside libdw asked once for each function"
)

# Turns Google Benchmark's lines, "table/libc.so.6",iterations,real_time,..., into one row per binary.
print_unwind_tables() {
  printf '| binary | .eh_frame, MiB | rows | table, ms | libdw, ms | libdw / fathom |\n| --- | --- | --- | --- | --- | --- |\n'
  "$build/bench/unwind_table_bench" --benchmark_format=csv --benchmark_filter='^(table|libdw_rule_per_function)/' 2>/dev/null |
    awk -F, '
      $1 == "name" { for (i = 1; i <= NF; ++i) { gsub(/"/, "", $i); column[$i] = i } next }
      { gsub(/"/, "", $1); split($1, part, "/"); name = part[2] }
      part[1] == "table" { order[++count] = name; ms[name] = $3; mib[name] = $column["eh_frame_MiB"]; rows[name] = $column["rows"] }
      part[1] ~ /^libdw/ { libdw[name] = $3 }
      END {
        for (i = 1; i <= count; ++i) {
          name = order[i]
          if (ms[name] > 0)
            printf "| %s | %.2f | %d | %.1f | %.1f | %.1f |\n", name, mib[name], rows[name], ms[name], libdw[name], libdw[name] / ms[name]
        }
        print ""
      }'
}

command -v perf >/dev/null || { echo "bench: perf is needed, to have something to compare with" >&2; exit 1; }
results=$build/results.md
{
  printf '%s, kernel %s, %s CPUs (%s), %s; %s rounds of %s s\n\n' \
    "$(. /etc/os-release && echo "$PRETTY_NAME")" "$(uname -r | cut -d- -f1)" "$(nproc)" \
    "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" "$(perf --version)" "${ROUNDS:-5}" "${SECONDS_PER_RUN:-3}"
  for question in "${questions[@]}"; do
    echo "bench: $question" >&2
    printf '### %s\n\n' "${titles[$question]}"
    if [ "$question" = unwind_table ]; then print_unwind_tables; else "$build/bench/bench_$question"; fi
  done
} | tee "$results"
echo "bench: the same text is in $results" >&2
