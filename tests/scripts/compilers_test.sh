#!/usr/bin/env bash
# Profiles for compilers, given to the compilers: compilers_test.sh FATHOM. Each tool must take its file, find the functions in it,
# and make a program that does the same as before.
set -euo pipefail
fathom=$1
skip() {
  echo "compilers_test: Skipped"
  echo "$1"
  exit 77
}
# The newest of the versions that a distribution has side by side.
newest() {
  { compgen -c "$1-" | grep -E "^$1-[0-9]+$" | sort -t- -k"$2" -n | tail -1; compgen -c "$1" | grep -Fx "$1"; } | head -1
}
clang=$(newest clang 2 || true) bolt=$(newest llvm-bolt 3 || true) profdata=$(newest llvm-profdata 3 || true)
[ -n "$clang" ] || skip "no clang on this machine (apt-get install clang)"
[ -n "$profdata" ] || skip "no llvm-profdata on this machine (apt-get install llvm)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >app.c <<'END'
#include <stdio.h>
#include <stdlib.h>
static unsigned step(unsigned x) {
  if (x % 16 == 3)
    return x / 3 + 1;
  return x * 1664525u + 1013904223u;
}
static unsigned first(unsigned x) { return step(x) ^ 1; }
static unsigned second(unsigned x) { return x + 7; }
__attribute__((noinline)) static unsigned churn(unsigned seed, int rounds, unsigned (*use)(unsigned)) {
  for (int i = 0; i < rounds; ++i)
    seed = use(seed);
  return seed;
}
int main(int argc, char **argv) {
  unsigned sum = 0;
  for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 100); ++i)
    sum += churn(i, 1000000, i % 8 == 0 ? second : first);
  printf("%u\n", sum);
  return 0;
}
END
flags="-O2 -g -fdebug-info-for-profiling"
"$clang" $flags app.c -o app -Wl,--emit-relocs
"$fathom" record -q -f -F 997 -o app.fathom -- ./app 400 >was
fail() {
  echo "compilers_test: $1"
  exit 1
}

"$fathom" export app.fathom --to sample-profile -f -o app.afdo 2>notes
grep -q "^churn:[1-9]" app.afdo || fail "churn is not in the profile: $(cat app.afdo)"
grep -Eq "^ 2: [1-9][0-9]* first:[1-9]" app.afdo || fail "the call in churn lists no target: $(cat app.afdo)"
"$profdata" merge --sample app.afdo -o app.profdata
"$clang" $flags -fprofile-sample-use=app.profdata -Rpass-analysis=sample-profile app.c -o app.sampled 2>remarks
grep -q "Applied" remarks || fail "the compiler found no line of the profile: $(head -5 remarks)"
[ "$(./app.sampled 400)" = "$(cat was)" ] || fail "the program of the sample profile does something else"

"$fathom" export app.fathom --to bolt -f -o app.fdata 2>notes
# A second time, over its own file.
"$fathom" export app.fathom --to bolt -o app.fdata 2>notes && "$fathom" export app.fathom --to sample-profile -o app.afdo 2>/dev/null ||
  fail "fathom does not replace its own profiles"
"$fathom" export app.fathom --to bolt -f -o app.fdata 2>notes
written=$(awk 'NR > 1 { sum += $4 } END { print sum }' app.fdata)
grep -q ": $(printf "%'d" "$written") of " notes || grep -q ": $written of " notes || tr -d , <notes | grep -q ": $written of " ||
  fail "$written samples are in the file, and fathom says: $(cat notes)"
if [ -n "$bolt" ]; then
  "$bolt" app -data app.fdata -o app.bolted -reorder-blocks=ext-tsp -reorder-functions=hfsort >remarks 2>&1 ||
    fail "llvm-bolt refuses the profile: $(tail -5 remarks)"
  grep -Eq "BOLT-INFO: [1-9][0-9]* out of [0-9]+ functions in the binary .* have non-empty execution profile" remarks ||
    fail "llvm-bolt found no function of the profile: $(cat remarks)"
  [ "$(./app.bolted 400)" = "$(cat was)" ] || fail "the program of BOLT does something else"
else
  skip "no llvm-bolt on this machine (apt-get install llvm-bolt); the sample profile was tried"
fi
