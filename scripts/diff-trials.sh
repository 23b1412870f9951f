#!/usr/bin/env bash
# Does `fathom diff --fail-if` end with the right status on a busy machine? Records a program that does a known
# amount of work (scripts/trials/diff_work.cpp): each round the same work twice and 1.05, 1.5, 2, 10 and 50 times
# the work, each kind of work with the conditions that docs/diff.md has for it. Then compares, and counts.
#
#   scripts/diff-trials.sh FATHOM [KIND...]       default: all kinds
#
# ROUNDS (10), LOAD (8: runnable processes next to the program), FILES: a folder that keeps the recordings; those
# that are there are not recorded again, so another build of FATHOM can be asked about the same recordings.
#
# The conditions have a limit of 20 %. So the same work and 1.05 times the work must not fail, and the others
# must fail, or be "not decided": then the stated error is larger than the change. At most 2 of 100 equal pairs may
# fail. Exits with 1 if more do, if fewer than 95 of 100 are right, or if a status contradicts its sentences.
set -uo pipefail
fathom=$(realpath "${1:?usage: scripts/diff-trials.sh FATHOM [KIND...]}")
shift
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
rounds=${ROUNDS:-10}
load=${LOAD:-8}

# KIND UNITS: the smaller run takes 0.1 to 0.6 s on a free machine. Options of record; conditions.
declare -A units=([arithmetic]=2000 [memory]=800 [objects]=3000 [function]=700 [calls]=1200 [threads]=600 [children]=600
  [blocks]=20000 [sleeps]=300 [lock]=150 [pool]=600 [writes]=100 [echo]=5000)
declare -A options=([arithmetic]=--cpu [memory]=--cpu [objects]=--cpu [calls]='--probe=(anonymous namespace)::planted' [blocks]='--heap=exact')
declare -A conditions=(
  [arithmetic]='total > +20%;elapsed > +20%'
  [memory]='total > +20%'
  [objects]='total > +20%'
  [function]='total > +20% : planted;self > +20% : planted'
  [calls]='calls > +20% : planted'
  [threads]='total > +20%;cpu > +20%'
  [children]='total > +20%'
  [blocks]='allocations > +20%;allocated > +20%;peak > +20%'
  [sleeps]='waits > +20% : sleep;off-cpu > +20%;cause > +20% : sleep;elapsed > +20%'
  [lock]='waits > +20%;off-cpu > +20%;off-cpu > +20% : locked_work'
  [pool]='waits > +20%;off-cpu > +20%;cause > +20% : .'
  [writes]='waits > +20%;off-cpu > +20%;elapsed > +20%'
  [echo]='waits > +20%;off-cpu > +20%;cause > +20% : .'
)
kinds=("$@")
[ $# -gt 0 ] || kinds=(arithmetic memory objects function calls threads children blocks sleeps lock pool writes echo)

work=$(mktemp -d)
burners=()
trap 'kill "${burners[@]}" 2>/dev/null; rm -rf "$work"' EXIT
files=${FILES:-$work/files}
mkdir -p "$files"
g++ -std=c++20 -O2 -g -pthread -o "$work/diff_work" "$here/scripts/trials/diff_work.cpp" || exit 2

burn() { # Starts the load once something is to be recorded; `timeout` ends it even if this script is killed.
  local i
  [ ${#burners[@]} -eq 0 ] || return 0
  for ((i = 0; i < load; ++i)); do
    timeout 3000 sh -c 'while :; do :; done' &
    burners+=($!)
  done
}

base_of() { # FACTOR: the run that it is compared with; a fifth of the work for large factors, which take long
  if [ "$1" = 10 ] || [ "$1" = 50 ]; then echo small; else echo base; fi
}

record() { # KIND FACTOR NAME
  local file=$files/$1-$3.fathom some=${units[$1]}
  case $3 in *-small | *-10 | *-50) some=$((some / 5)) ;; esac
  [ -e "$file" ] && return
  burn
  (cd "$work" && "$fathom" record -q ${options[$1]:+"${options[$1]}"} -o "$file.new" -- "$work/diff_work" "$1" "$some" "$2") >"$work/said" 2>&1 &&
    mv "$file.new" "$file" || { cat "$work/said" >&2; return 1; }
}

factors_of() { # ROUND: the longest runs only in every fifth
  if (($1 % 5 == 0)); then echo 1 1.05 1.5 2 10 50; else echo 1 1.05 1.5 2; fi
}

for ((round = 0; round < rounds; ++round)); do
  for kind in "${kinds[@]}"; do
    for factor in $(factors_of "$round"); do
      record "$kind" 1 "$round-$(base_of "$factor")" && record "$kind" "$factor" "$round-$factor" || exit 2
    done
  done
done
[ ${#burners[@]} -eq 0 ] || kill "${burners[@]}" 2>/dev/null

# One line per pair and condition: KIND;FACTOR;CONDITION;holds|undecided|passes
contradictions=0
for ((round = 0; round < rounds; ++round)); do
  for kind in "${kinds[@]}"; do
    IFS=';' read -r -a asked <<<"${conditions[$kind]}"
    arguments=()
    for condition in "${asked[@]}"; do arguments+=(--fail-if "$condition"); done
    for factor in $(factors_of "$round"); do
      "$fathom" diff "$files/$kind-$round-$(base_of "$factor").fathom" "$files/$kind-$round-$factor.fathom" "${arguments[@]}" >"$work/text" 2>"$work/said"
      status=$?
      held=0
      for condition in "${asked[@]}"; do
        verdict=passes
        if grep -qF "fathom: $condition holds: " "$work/said"; then
          verdict=holds held=5
        elif grep -qF "fathom: $condition: not decided" "$work/said"; then
          verdict=undecided
        elif grep -qF "fathom: $condition: " "$work/said"; then
          verdict=unknown
        fi
        echo "$kind;$factor;$condition;$verdict;$round"
      done
      if [ $status != $held ]; then
        echo "diff-trials: $kind, $factor times, round $round: status $status, but $(cat "$work/said")" >&2
        contradictions=1
      fi
    done
  done
done >"$work/verdicts"
[ -z "${FILES:-}" ] || cp "$work/verdicts" "$files/verdicts"

awk -F';' -v contradictions="$contradictions" '
  {
    key = $1 ";" $3 ";" $2
    if (!(key in all)) order[++keys] = key
    ++all[key]; ++got[key, $4]
    if ($2 == 1) { ++equal; if ($4 == "holds") ++alarms }
    else { ++planted; if ($2 < 1.2 ? $4 != "holds" && $4 != "unknown" : $4 == "holds") ++right
           else if ($4 == "undecided") ++undecided }
  }
  END {
    for (i = 1; i <= keys; ++i) {
      split(order[i], part, ";")
      printf "%-11s %-28s %5s times: %2d of %2d fail, %2d undecided, %2d unknown\n", part[1], part[2], part[3], got[order[i], "holds"], all[order[i]],
        got[order[i], "undecided"], got[order[i], "unknown"]
    }
    printf "\nequal work: %d of %d fail\nmore work: %d of %d right, %d not decided, %d wrong\n", alarms, equal, right, planted,
      undecided, planted - right - undecided
    exit contradictions || alarms > 0.02 * equal || right + undecided < 0.95 * planted
  }' "$work/verdicts"
