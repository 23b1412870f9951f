#!/usr/bin/env bash
# What scripts/run-tests.sh makes of tests that pass, fail, are repeated and are skipped: run_tests_test.sh SCRIPT
set -euo pipefail
script=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset CTEST_PARALLEL_LEVEL

cat >"$folder/timing.txt" <<'LIST'
# what may be repeated
Clock.*
LIST
cat >"$folder/skips.txt" <<'LIST'
Net.* | needs a network, * | there is no network here
LIST

# A build folder of these tests: NAME COMMAND, as many as there are.
build_of() {
  rm -rf "$folder/build"
  mkdir "$folder/build"
  while [ $# -gt 0 ]; do
    printf '#!/bin/bash\n%s\n' "$2" >"$folder/build/$1.sh"
    chmod +x "$folder/build/$1.sh"
    printf 'add_test("%s" "%s")\nset_tests_properties("%s" PROPERTIES SKIP_REGULAR_EXPRESSION "\\\\[  SKIPPED \\\\]")\n' \
      "$1" "$folder/build/$1.sh" "$1" >>"$folder/build/CTestTestfile.cmake"
    shift 2
  done
}
skip() { printf 'echo "x_test.cpp:7: Skipped"; echo "%s"; echo; echo "[  SKIPPED ] X (0 ms)"' "$1"; }

# WHAT STATUS: runs it, and every line of stdin (a pattern) has to be in what it prints; the first one as the last line.
expect() {
  local status=0 last
  FATHOM_TIMING_LIST=$folder/timing.txt FATHOM_SKIP_LIST=$folder/skips.txt "$script" "$folder/build" >"$folder/said" 2>&1 ||
    status=$?
  [ "$status" = "$2" ] || { cat "$folder/said"; echo "$1: status $status where $2 was expected"; exit 1; }
  read -r last
  [ "$(tail -n 1 "$folder/said")" = "$last" ] || { cat "$folder/said"; echo "$1: does not end with: $last"; exit 1; }
  while read -r line; do
    grep -qE -- "$line" "$folder/said" || { cat "$folder/said"; echo "$1: does not say: $line"; exit 1; }
  done
  echo "ok: $1"
}

build_of A.Passes 'exit 0' B.Passes 'echo "[ with BPF  ]"'
expect "tests that pass" 0 <<'SAID'
2 passed, 0 failed, 0 skipped
; 1 tests recorded with BPF
SAID

build_of A.Passes 'exit 0' B.Counts "echo x >>$folder/build/runs; exit 1"
expect "a failure of a test that measures no time counts if it comes back" 1 <<SAID
1 passed, 1 failed, 0 skipped
^  B.Counts$
SAID
[ "$(wc -l <"$folder/build/runs")" = 2 ] || { echo "B.Counts ran $(wc -l <"$folder/build/runs") times"; exit 1; }

build_of A.Passes 'exit 0' B.Crowded "echo x >>$folder/build/runs; [ \$(wc -l <$folder/build/runs) -gt 1 ]"
expect "a test that fails once and passes three times alone is counted as passed, and named" 0 <<SAID
2 passed, 0 failed, 0 skipped
Failed next to other tests, then passed 3 times alone
^  B.Crowded$
SAID
[ "$(wc -l <"$folder/build/runs")" = 4 ] || { echo "B.Crowded ran $(wc -l <"$folder/build/runs") times"; exit 1; }

build_of A.Passes 'exit 0' B.Racy "echo x >>$folder/build/runs; [ \$((\$(wc -l <$folder/build/runs) % 3)) = 2 ]"
expect "a test that passes only sometimes fails" 1 <<SAID
1 passed, 1 failed, 0 skipped
^  B.Racy$
SAID

build_of Clock.Sleepy "[ -e $folder/build/again ] && exit 0; touch $folder/build/again; exit 1" A.Passes 'exit 0'
expect "a test that measures time is repeated, and that is printed" 0 <<'SAID'
2 passed, 0 failed, 0 skipped
Clock.Sleepy: passed in repetition 1
SAID

build_of Clock.Broken "echo x >>$folder/build/runs; exit 1" Other.Clock. 'exit 0'
expect "at most twice more" 1 <<'SAID'
1 passed, 1 failed, 0 skipped
Clock.Broken: failed in repetition 2
SAID
[ "$(wc -l <"$folder/build/runs")" = 3 ] || { echo "Clock.Broken ran $(wc -l <"$folder/build/runs") times"; exit 1; }

build_of Net.Download "$(skip 'needs a network, <ours>')" Net.Upload "$(skip 'needs a network, too')" A.Passes 'exit 0'
expect "skips that are allowed are counted by reason" 0 <<'SAID'
1 passed, 0 failed, 2 skipped
^ +2  there is no network here$
SAID

build_of Net.Download "$(skip 'no events arrived')" A.Passes 'exit 0'
expect "a skip for another reason fails" 1 <<'SAID'
1 passed, 1 failed, 0 skipped
Net.Download: no events arrived
SAID

build_of Disk.Full "$(skip 'needs a network, at home')" A.Passes 'exit 0'
expect "the skip of another test fails" 1 <<'SAID'
1 passed, 1 failed, 0 skipped
Disk.Full: needs a network, at home
SAID

build_of A.Passes 'exit 0'
echo 'add_test(Not.Built "/nowhere/at/all")' >>"$folder/build/CTestTestfile.cmake"
expect "a test that is not there fails" 1 <<'SAID'
1 passed, 1 failed, 0 skipped
Not.Built
SAID

build_of A.Passes 'exit 0'
mkdir "$folder/build/sub"
sed "s/exit 0/exit 1/" "$folder/build/CTestTestfile.cmake" >"$folder/build/sub/CTestTestfile.cmake"
echo 'subdirs(sub)' >>"$folder/build/CTestTestfile.cmake"
expect "two tests of one name cannot be told apart" 1 <<'SAID'
2 passed, 1 failed, 0 skipped
Two tests have one name
SAID

"$script" --sum "$folder/build" "$folder/none" >"$folder/said" 2>&1 && { echo "a run without results is no success"; exit 1; }
[ "$(tail -n 1 "$folder/said")" = "2 passed, 2 failed, 0 skipped" ] || { cat "$folder/said"; exit 1; }

build_of A.Passes 'exit 0' B.Counts 'exit 1'
FATHOM_TIMING_LIST=$folder/timing.txt FATHOM_SKIP_LIST=$folder/skips.txt "$script" "$folder/build" >/dev/null 2>&1 || true
"$script" --sum "$folder/build" >"$folder/said" 2>&1 || true
grep -q '^  B.Counts$' "$folder/said" || { cat "$folder/said"; echo "the sum does not name what failed"; exit 1; }
echo "ok: the sum of runs"
