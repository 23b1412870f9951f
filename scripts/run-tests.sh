#!/usr/bin/env bash
# Runs the tests of a build folder. A test that fails runs again: if tests/timing.txt names it, at most twice; every other
# test must then pass three times in a row with nothing else running, and the summary names it. A skip that tests/skips.txt
# does not name is a failure. The last line is the sum: "N passed, N failed, N skipped".
#
#   scripts/run-tests.sh BUILD_FOLDER [CTEST_OPTION...]
#   scripts/run-tests.sh --sum BUILD_FOLDER...         the sum of runs that are over
set -euo pipefail
here=$(realpath "$(dirname "$0")/..")
timing=${FATHOM_TIMING_LIST:-$here/tests/timing.txt}
skips=${FATHOM_SKIP_LIST:-$here/tests/skips.txt}
repetitions=2
runs_alone=3
most_alone=20  # where more tests fail, the cause is no crowded machine

if [ "${1:-}" = --sum ]; then
  shift
  passed=0 failed=0 skipped=0
  for build in "$@"; do
    if ! read -r p f s 2>/dev/null <"$build/test-results/counts"; then
      echo "$build: its tests did not run to their end"
      p=0 f=1 s=0
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    cat "$build/test-results/remarks" 2>/dev/null || true
  done
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" = 0 ]
  exit
fi

build=$(realpath "$1")
shift
results=$build/test-results
rm -rf "$results"
mkdir -p "$results"

# Results as lines "state<TAB>name<TAB>text": passed, failed or skipped (then the text is the reason); bpf for each test
# that said that it records with BPF.
read_results() {
  awk '
    function plain(text) {
      gsub(/&lt;/, "<", text); gsub(/&gt;/, ">", text); gsub(/&quot;/, "\"", text)
      gsub(/&apos;/, "\047", text); gsub(/&#9;|\t/, " ", text); gsub(/&amp;/, "\\&", text)
      return text
    }
    function attribute(line, key) {
      if (!match(line, " " key "=\"[^\"]*\"")) return ""
      return plain(substr(line, RSTART + length(key) + 3, RLENGTH - length(key) - 4))
    }
    { sub(/^[ \t]*<system-out>/, ""); sub(/<\/system-out>$/, "") }
    /<testcase / {
      name = attribute($0, "name"); status = attribute($0, "status")
      reason = ""; message = ""; reason_follows = 0; bpf = 0
    }
    /<skipped / { message = attribute($0, "message") }
    reason_follows { reason = plain($0); reason_follows = 0 }
    /: Skipped$/ && reason == "" { reason_follows = 1 }
    /^\[ with BPF  \]$/ { bpf = 1 }
    /<\/testcase>/ {
      if (status == "run") state = "passed"
      else if (message ~ /^SKIP_/) { state = "skipped"; if (reason == "") reason = "no reason is given" }
      else { state = "failed"; if (status == "notrun") reason = "did not run: " message }
      printf "%s\t%s\t%s\n", state, name, reason
      if (bpf && state != "skipped") printf "bpf\t%s\t\n", name
    }' "$1"
}
names_of() { awk -F '\t' -v state="$1" '$1 == state { print $2 }' "$2"; }

# Those of the names on stdin that the list of timing tests has (1) or does not have (0).
in_timing_list() {
  awk -v wanted="$1" '
    function expression(glob) {
      gsub(/[].[+?(){}^$\\|]/, "\\\\&", glob); gsub(/\*/, ".*", glob)
      return "^" glob "$"
    }
    FILENAME == ARGV[1] { if ($0 !~ /^ *(#|$)/) globs[++count] = expression($1); next }
    { found = 0; for (i = 1; i <= count; ++i) if ($0 ~ globs[i]) { found = 1; break } if (found == wanted) print }' "$timing" -
}

run_ctest() { # RESULT_NAME OPTIONS...
  local name=$1
  shift
  ctest --test-dir "$build" --output-on-failure --no-tests=error --test-output-size-passed 65536 \
    --output-junit "$results/$name.xml" "$@" || true
  [ -f "$results/$name.xml" ] || { echo "run-tests: ctest has left no results" >&2; exit 1; }
  read_results "$results/$name.xml" >"$results/$name"
}

# A regular expression for ctest of the names in a file.
one_of() { echo "^($(sed 's/[].[+*?(){}^$\\|]/\\&/g' "$1" | paste -sd '|'))\$"; }

# What was repeated counts as it ended the last time.
take_results_of() {
  awk -F '\t' 'FILENAME == ARGV[1] { if ($1 != "bpf") last[$2] = $0; next } $1 != "bpf" && ($2 in last) { print last[$2]; next } { print }' \
    "$results/$1" "$results/final" >"$results/next"
  mv "$results/next" "$results/final"
}

run_ctest all "$@"
cp "$results/all" "$results/final"
: >"$results/repeated"
for repetition in $(seq $repetitions); do
  names_of failed "$results/final" | in_timing_list 1 >"$results/again"
  [ -s "$results/again" ] || break
  echo
  echo "Repeated, as they measure time (repetition $repetition of $repetitions):"
  sed 's/^/  /' "$results/again"
  run_ctest "repetition$repetition" --tests-regex "$(one_of "$results/again")"
  take_results_of "repetition$repetition"
  sed "s/$/\t$repetition/" "$results/again" >>"$results/repeated"
done

names_of failed "$results/all" | in_timing_list 0 >"$results/again"
if [ -s "$results/again" ] && [ "$(wc -l <"$results/again")" -le $most_alone ]; then
  echo
  echo "Repeated $runs_alone times, with nothing else running:"
  sed 's/^/  /' "$results/again"
  run_ctest alone --parallel 1 --repeat "until-fail:$runs_alone" --tests-regex "$(one_of "$results/again")"
  take_results_of alone
  names_of passed "$results/alone" >"$results/unsteady"
fi

# Each skip with the line of the list that allows it, or with none.
awk -F '\t' '
  function expression(glob) {
    gsub(/[].[+?(){}^$\\|]/, "\\\\&", glob); gsub(/\*/, ".*", glob)
    return "^" glob "$"
  }
  FILENAME == ARGV[1] {
    if ($0 ~ /^ *(#|$)/) next
    n = split($0, column, / *\| */)
    if (n != 3) { printf "bad\t%s\t\n", $0; next }
    names[++count] = expression(column[1]); reasons[count] = expression(column[2]); why[count] = column[3]
    next
  }
  $1 == "skipped" {
    for (i = 1; i <= count; ++i)
      if ($2 ~ names[i] && $3 ~ reasons[i]) { printf "allowed\t%s\t%s\n", $2, why[i]; next }
    printf "refused\t%s\t%s\n", $2, $3
  }' "$skips" "$results/final" >"$results/skips"

echo
if [ "$(id -u)" = 0 ]; then who="as root"; else who="without root"; fi
with_bpf=$(grep -c '^bpf' "$results/final" || true)
echo "Ran $who; $with_bpf tests recorded with BPF."
if [ -s "$results/repeated" ]; then
  echo "Repeated, as they measure time:"
  while IFS=$'\t' read -r name repetition; do
    echo "  $name: $(awk -F '\t' -v name="$name" '$1 != "bpf" && $2 == name { print $1 }' "$results/repetition$repetition") in repetition $repetition"
  done <"$results/repeated"
fi
if grep -q '^allowed' "$results/skips"; then
  echo "Skipped, by reason (tests/skips.txt):"
  awk -F '\t' '$1 == "allowed" { ++count[$3] } END { for (why in count) printf "%6d  %s\n", count[why], why }' "$results/skips" | sort -k 2
fi
if grep -q '^bad' "$results/skips"; then
  echo "Lines of tests/skips.txt that are not TESTS | REASON | WHY:"
  sed -n 's/^bad\t/  /p' "$results/skips"
fi
if grep -q '^refused' "$results/skips"; then
  echo "Skipped without being allowed to, which is a failure:"
  awk -F '\t' '$1 == "refused" { printf "  %s: %s\n", $2, $3 }' "$results/skips"
fi
twice=$(awk -F '\t' '$1 != "bpf" { print $2 }' "$results/all" | sort | uniq -d)
if [ -n "$twice" ]; then
  echo "Two tests have one name, so the one hides the other:"
  sed 's/^/  /' <<<"$twice"
fi
failed=$(grep -c '^failed' "$results/final" || true)
{
  if [ -s "$results/unsteady" ]; then
    echo "Failed next to other tests, then passed $runs_alone times alone (counted as passed, and worth a look):"
    sed 's/^/  /' "$results/unsteady"
  fi
  if [ "$failed" != 0 ]; then
    echo "Failed:"
    awk -F '\t' '$1 == "failed" { print "  " $2 ($3 == "" ? "" : ": " $3) }' "$results/final"
  fi
} | tee "$results/remarks"
passed=$(grep -c '^passed' "$results/final" || true)
skipped=$(grep -c '^allowed' "$results/skips" || true)
failed=$((failed + $(grep -c '^refused\|^bad' "$results/skips" || true) + $(grep -c . <<<"$twice" || true)))
echo "$passed $failed $skipped" >"$results/counts"
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
