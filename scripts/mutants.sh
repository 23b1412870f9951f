#!/usr/bin/env bash
# Breaks the code in the ways of a list, one at a time and in a copy of the tree, and sees that a test fails each time.
#
#   scripts/mutants.sh LIST FOLDER [JOBS]     FOLDER: where the copy is made and built; ONLY=TEXT: mutants with this name
#
# A mutant of the list, which is read from the first line on:
#
#   NAME: what the broken code does
#     file: src/model/store/block.cpp
#     test: model_store_test Block.*               the program, and which of its tests
#     - header.payload_size / kMaxRatio      this text, which stands exactly once in the file (several lines: all of them)
#     + header.payload_size / (kMaxRatio*9)  becomes that (no such line: nothing)
#
# Survivors are printed, and so are mutants that no longer apply, do not compile, or whose test fails without them: the
# exit status is 1 for all of these.
set -uo pipefail
list=$(realpath "$1")
top=$(realpath "$(dirname "$0")/..")
mkdir -p "$2"
folder=$(realpath "$2")
jobs=${3:-$(nproc)}
only=${ONLY:-}
tree=$folder/tree build=$folder/build log=$folder/log
mkdir -p "$tree" "$log"

# As it stands in the working folder. Only what changed is copied, so the second time builds little.
(cd "$top" && git ls-files -z --cached --others --exclude-standard) >"$folder/files"
while IFS= read -r -d '' file; do
  [ -f "$top/$file" ] || { rm -f "$tree/$file"; continue; }
  cmp -s "$top/$file" "$tree/$file" && continue
  mkdir -p "$tree/$(dirname "$file")"
  cp -p "$top/$file" "$tree/$file" && touch "$tree/$file"
done <"$folder/files"

# One line of fields per mutant; a line break inside of a field is \001.
awk '
  function flush() {
    if (name != "") printf "%s\t%s\t%s\t%s\t%s\n", name, file, test, from, to
    name = file = test = from = to = ""; has_from = has_to = 0
  }
  /^ *#/ || /^ *$/ { next }
  /^[^ ]/ { flush(); name = $0; gsub(/\t/, " ", name); next }
  /^  file: / { file = substr($0, 9); next }
  /^  test: / { test = substr($0, 9); next }
  /^  - / { from = from (has_from ? "\001" : "") substr($0, 5); has_from = 1; next }
  /^  \+ / { to = to (has_to ? "\001" : "") substr($0, 5); has_to = 1; next }
  { printf "mutants: line %d of the list cannot be read: %s\n", NR, $0 >"/dev/stderr"; exit 1 }
  END { flush() }' "$list" >"$folder/mutants" || exit 1
[ -n "$only" ] && { grep -iF -- "$only" "$folder/mutants" >"$folder/chosen"; mv "$folder/chosen" "$folder/mutants"; }
total=$(wc -l <"$folder/mutants")
[ "$total" -gt 0 ] || { echo "mutants: the list has none" >&2; exit 1; }

cmake -S "$tree" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DCMAKE_C_FLAGS_DEBUG=-O0 \
  >"$log/configure" 2>&1 || { tail -n 20 "$log/configure" >&2; exit 1; }
programs=$(cut -f 3 "$folder/mutants" | cut -d ' ' -f 1 | sort -u)
echo "building: $(paste -sd ' ' <<<"$programs")"
# shellcheck disable=SC2086
cmake --build "$build" --parallel "$jobs" --target $programs >"$log/build" 2>&1 ||
  { grep -E 'error|FAILED' "$log/build" | head -n 20 >&2; exit 1; }

run_test() { # PROGRAM FILTER LOG
  local program
  program=$(find "$build" -name "$1" -type f -perm -u+x | head -n 1)
  (cd "$tree" && timeout --kill-after=5 120 "$program" --gtest_filter="$2" --gtest_brief=1 </dev/null) >"$3" 2>&1
}

# A test that fails, is skipped or is not there says nothing about a mutant. All of them run now, while the programs are whole.
declare -A sound=()
number=0
while IFS= read -r test; do
  number=$((number + 1))
  out=$log/before.$number
  if run_test "${test%% *}" "${test#* }" "$out" && ! grep -q -e '0 tests from 0 test suites' -e '1 test, listed below' "$out" &&
    ! grep -q '\[  SKIPPED \] [0-9]' "$out"; then
    sound[$test]=yes
  else
    sound[$test]=$out
  fi
done < <(cut -f 3 "$folder/mutants" | sort -u)

survived=0 broken=0 caught=0 number=0
while IFS=$'\t' read -r -u 3 name file test from to; do
  number=$((number + 1))
  program=${test%% *} filter=${test#* }
  out=$log/$number
  say() { printf '%-9s %s\n' "$1" "$name${2:+ ($2)}"; }
  if [ "${sound[$test]}" != yes ]; then
    say BROKEN "its test does not pass without it: ${sound[$test]}"
    broken=$((broken + 1))
    continue
  fi
  cp "$tree/$file" "$folder/original" 2>/dev/null || { say BROKEN "there is no $file"; broken=$((broken + 1)); continue; }
  # Exact text, exactly once.
  FROM=$from TO=$to awk '
    BEGIN { from = ENVIRON["FROM"]; to = ENVIRON["TO"]; gsub(/\001/, "\n", from); gsub(/\001/, "\n", to) }
    { text = text $0 "\n" }
    END {
      at = index(text, from)
      if (from == "" || at == 0) exit 3
      if (index(substr(text, at + length(from)), from) != 0) exit 4
      printf "%s%s%s", substr(text, 1, at - 1), to, substr(text, at + length(from))
    }' "$folder/original" >"$folder/mutated"
  case $? in
    0) ;;
    4) say BROKEN "its text stands more than once in $file"; broken=$((broken + 1)); continue ;;
    *) say BROKEN "no longer applies: its text is not in $file"; broken=$((broken + 1)); continue ;;
  esac
  cat "$folder/mutated" >"$tree/$file"
  if ! cmake --build "$build" --parallel "$jobs" --target "$program" >"$out.build" 2>&1; then
    say BROKEN "does not compile: $out.build"
    broken=$((broken + 1))
  elif run_test "$program" "$filter" "$out"; then
    say SURVIVED "$file, $test"
    survived=$((survived + 1))
  else
    say caught
    caught=$((caught + 1))
  fi
  cat "$folder/original" >"$tree/$file"
done 3<"$folder/mutants"

echo
echo "$total mutants: $caught caught, $survived survived, $broken could not be tried"
[ $((survived + broken)) = 0 ]
