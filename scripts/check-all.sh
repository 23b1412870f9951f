#!/usr/bin/env bash
# Everything that can be checked, one after the other, and what came out of it in docs/checks.md. Takes hours: run it on a
# machine that has nothing else to do. From `make check-all`.
#
#   scripts/check-all.sh [PART...]      parts: tests stub kernels asan tsan fuzz mutants soak; without any: all of them
#   FUZZ_SECONDS, SOAK_CYCLES, SOAK_KILLS, JOBS and SETUP as in the Makefile; RESULTS=FILE writes another file
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
results=${RESULTS:-docs/checks.md}
logs=build/check-all
mkdir -p "$logs"
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(tests stub kernels asan tsan fuzz mutants soak)

declare -A title=(
  [tests]="all tests" [stub]="a build without a processor" [kernels]="kernels of four versions" [asan]="unit tests, address and undefined behaviour sanitizers"
  [tsan]="tests of what has threads, thread sanitizer" [fuzz]="fuzz targets, ${FUZZ_SECONDS:-60} s each"
  [mutants]="mutants" [soak]="soak, ${SOAK_CYCLES:-1000} cycles and ${SOAK_KILLS:-200} kills")
declare -A target=([tests]=test [stub]=stub-arch [kernels]=kernels [asan]=asan [tsan]=tsan [fuzz]=fuzz [mutants]=mutants [soak]=soak)

# The one line of a log that says it all.
figures() {
  case $1 in
    tests | asan | tsan) grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$2" | tail -n 1 ;;
    kernels) grep -E '^[0-9]+ passed, [0-9]+ failed$' "$2" | tail -n 1 ;;
    stub) tail -n 1 "$2" | sed 's/^check-stub: //' ;;
    fuzz) awk '/ runs, nothing found$/ { ++sound; runs += $2 } / FAILED / { ++broken }
               END { printf "%d targets, %.0f million runs, %d with findings\n", sound + broken, runs / 1e6, broken }' "$2" ;;
    mutants) grep -E '^[0-9]+ mutants: ' "$2" | tail -n 1 ;;
    soak) grep -E '^\[  (PASSED|FAILED)  \] [0-9]+ test' "$2" | sed 's/^\[  //; s/  \]//' | paste -sd ',' ;;
  esac
}

# The rows of parts that are not run now stay.
rows=$logs/rows
[ -f "$results" ] && grep -E '^\| (all tests|a build without|kernels of|unit tests,|tests of what|fuzz targets|mutants|soak)' "$results" >"$rows.before" || : >"$rows.before"
machine="$(nproc) CPUs of $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), Linux $(uname -r | sed 's/-.*//')"
commit=$(git describe --always --dirty 2>/dev/null || echo unknown)
: >"$rows"
status=0
for part in "${parts[@]}"; do
  [ -n "${target[$part]:-}" ] || { echo "check-all: no part '$part'" >&2; exit 2; }
  echo "check-all: ${title[$part]}"
  began=$(date +%s) result=good
  make --no-print-directory "${target[$part]}" </dev/null >"$logs/$part.log" 2>&1 || { result=FAILED; status=1; }
  took=$((($(date +%s) - began + 59) / 60))
  echo "  $result, $took min: $(figures "$part" "$logs/$part.log") ($logs/$part.log)"
  printf '| %s | %s | %s | %s | %s | %s min | %s |\n' "${title[$part]}" "$(date -u +%F)" "$commit" "$machine" "$result" \
    "$took" "$(figures "$part" "$logs/$part.log")" >>"$rows"
done

{
  cat <<'HEAD'
# What was checked last

`make check-all` writes this page. It runs before a release, on a machine that has nothing else to do; `make test` and `.ci/run`
are what every change has to pass.

| what | when | commit | machine | result | took | figures |
|---|---|---|---|---|---|---|
HEAD
  for part in tests stub kernels asan tsan fuzz mutants soak; do
    first=${title[$part]%%,*}
    grep -F "| $first" "$rows" || grep -F "| $first" "$rows.before" || echo "| $first | not run yet | | | | | |"
  done
} >"$logs/checks.md"
cp "$logs/checks.md" "$results"
exit $status
