#!/bin/bash
# What must hold on every kernel. Runs as root inside the emulator that scripts/kernels.sh boots, or as root on any machine whose
# settings may change: each row compares what fathom says with what tests/kernels/known.c did. A row is a line
#
#   ROW<tab>NAME<tab>pass|FAIL<tab>what was seen
#
# Usage: suite.sh quick|full|PART...     parts: doctor cpu perf waits memory heap probes all container limit rights no-btf high cpus
# paranoid=N before parts sets kernel.perf_event_paranoid for them.
# Timings mean nothing under emulation, so rows compare shares, sums and counts, never how long something took.
cd "${0%/*}" || exit 1
PATH=$PWD:$PATH
work=$(mktemp -d)
kernel=$(uname -r)
is_at_least() { [ "$(printf '%s\n%s\n' "$1" "$kernel" | sort -V | head -n 1)" = "$1" ]; }
has_bpf=yes # whether root is expected to get the engine bpf in this boot
grep -q 'lockdown=confidentiality' /proc/cmdline && has_bpf=no

say() { printf '%s\n' "$*"; }
fail() {
  say "$*"
  exit 1
}
# row NAME COMMAND...: what COMMAND prints last is what was seen; it fails when COMMAND does, twice. An emulator stands still when the
# machine below it is busy, so a row has a second try, and says that it took it.
row() {
  local name=$1 seen result try
  shift
  for try in "" " (second try)"; do
    result=pass
    seen=$( ("$@") 2>"$work/errors") || result=FAIL
    seen=$(printf '%s\n' "$seen" | tail -n 1)$try
    [ $result = FAIL ] || break
    seen="$seen; $(grep -v '^ *$' "$work/errors" | head -n 4 | tr '\n\t' '  ' | cut -c 1-400)"
  done
  printf 'ROW\t%s\t%s\t%s\n' "$name" $result "$seen"
}

# between VALUE LOW HIGH WHAT
between() { awk -v v="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(v != "" && v >= low && v <= high) }' || fail "$4: $1, expected $2 to $3"; }
same() { [ "$1" = "$2" ] || fail "$3: '$1', expected '$2'"; }
number_after() { sed -n "s/^$1 \([0-9.]*\).*/\1/p" "$2"; }
# share FILE FUNCTION: percent of all that is below it.
share() { fathom report --json "$1" | jq -r --arg f "$2" '[.functions[] | select(.name == $f)][0].total_percent // 0'; }
# hot_share FILE: percent of the CPU time of known_hot and known_cool that is known_hot's; the start of a program counts for nothing.
hot_share() {
  fathom report --json --metric cpu "$1" | jq -r '[.functions[] | select(.name == "known_hot" or .name == "known_cool")] as $both |
    100 * ([$both[] | select(.name == "known_hot").total] | add) / ([$both[].total] | add)'
}
total() { fathom report --json --metric "$2" "$1" | jq -r --arg f "$3" '[.functions[] | select(.name == $f)][0].total // 0'; }
engine_of() { fathom report --json "$1" | jq -r .engine; }
doctor_engine() { fathom doctor --json | jq -r .engine; }

# ---- CPU, with the engine that fathom chooses
cpu_is_known() {
  local file=$work/cpu.fathom
  fathom record -q --cpu -o "$file" -- known cpu 3 >"$work/out" || fail "record ended with $?"
  between "$(hot_share "$file")" 83 97 "share of known_hot"
  between "$(share "$file" main)" 80 100 "share of main"
  local cpu expected
  cpu=$(fathom report --json "$file" | jq -r .cpu_s) expected=$(number_after cpu_seconds "$work/out")
  between "$cpu" "$(jq -n "$expected * 0.9")" "$(jq -n "$expected * 1.1 + 0.1")" "seconds of CPU time"
}
cpu_by_choice() {
  cpu_is_known
  local engine
  engine=$(engine_of "$work/cpu.fathom")
  [ $has_bpf = no ] || same "$engine" bpf "engine"
  say "engine $engine, known_hot $(hot_share "$work/cpu.fathom" | cut -c 1-4) %"
}
kernel_stacks() {
  local file=$work/kernel.fathom
  fathom record -q --cpu -o "$file" -- known read 1 >"$work/out" || fail "record ended with $?"
  between "$(share "$file" known_read)" 60 100 "share of known_read"
  local kernel_share
  # Below the entry into the kernel, in what fills the buffer.
  kernel_share=$(fathom report --json "$file" |
    jq -r '[.functions[] | select(.kind == "kernel" and (.name | test("zero|clear_user"))) | .total_percent] | max // 0')
  between "$kernel_share" 60 100 "largest share of a function of the kernel that fills with zeros"
  say "known_read $(share "$file" known_read | cut -c 1-4) %, of it ${kernel_share%.*} % where the kernel fills with zeros"
}
cpu_by_perf() {
  local file=$work/perf.fathom
  fathom record -q --cpu --engine perf -o "$file" -- known cpu 2 >"$work/out" || fail "record ended with $?"
  same "$(engine_of "$file")" perf engine
  between "$(hot_share "$file")" 83 97 "share of known_hot"
  say "known_hot $(hot_share "$file" | cut -c 1-4) %"
}
complete_stacks() {
  local file=$work/cpu.fathom whole cut
  [ -f "$file" ] || cpu_is_known
  whole=$(fathom report --json "$file" | jq -r .quality.complete_percent)
  cut=$(fathom report --json "$file" | jq -r '.quality.samples * (100 - .quality.complete_percent) / 100')
  # The first moments of a program are cut at times, and an emulator that gets little CPU has few others.
  if ! (between "$cut" 0 12 "stacks that are cut") >/dev/null; then
    rm "$file" # a second try is of another recording
    between "$whole" 95 100 "complete stacks, in percent"
  fi
  printf '%.1f %%\n' "$whole"
}

# ---- waits
waits_are_known() {
  local file=$work/waits.fathom engine waited expected
  fathom record -q --off-cpu --cpu -o "$file" -- known wait 20 100 >"$work/out" || fail "record ended with $?"
  waited=$(jq -n "$(total "$file" off-cpu known_wait) / 1e9") expected=$(number_after waited_seconds "$work/out")
  between "$waited" "$(jq -n "$expected * 0.93")" "$(jq -n "$expected * 1.02")" "seconds below known_wait"
  engine=$(engine_of "$file")
  [ $has_bpf = no ] || same "$engine" bpf engine
  printf '%.2f s of %.2f s, engine %s\n' "$waited" "$expected" "$engine"
}
waker_is_known() {
  local file=$work/wakes.fathom
  fathom record -q --off-cpu --cpu -o "$file" -- known pass 20 100 >"$work/out" || fail "record ended with $?"
  fathom report --waits "$file" | tr '\n' ' ' | tr -s ' ' >"$work/chains"
  grep -qE 'waited [0-9.]+ m?s for known \([0-9]+\) \(futex wait in known_receiver\)' "$work/chains" ||
    fail "no chain from known_receiver to the thread that wakes it"
  say "known_receiver waits for the thread of known_passer"
}

# ---- memory and heap
memory_is_known() {
  local file=$work/memory.fathom peak
  fathom record -q --memory -o "$file" -- known memory 100 2 >"$work/out" || fail "record ended with $?"
  peak=$(fathom report "$file" | sed -n 's/^.*RSS \([0-9.]*\) MiB at most.*/\1/p' | head -n 1)
  between "$peak" 100 120 "MiB resident at most"
  say "$peak MiB"
}
watch_is_known() {
  known memory 100 60 >/dev/null &
  local pid=$! rss expected
  sleep 2
  rss=$(fathom watch --once --json -p $pid | jq -r '[.. | objects | .rss_bytes? // empty][0]')
  expected=$(($(awk '{ print $2 }' /proc/$pid/statm) * 4096))
  kill $pid
  between "$rss" $((expected * 95 / 100)) $((expected * 105 / 100)) "resident bytes"
  say "$rss bytes, /proc says $expected"
}
heap_launched() {
  local file=$work/heap.fathom
  fathom record -q --heap=exact -o "$file" -- known heap 500 3000 0 0 >"$work/out" || fail "record ended with $?"
  same "$(total "$file" heap-live known_keep)" 1500000 "bytes of known_keep"
  same "$(total "$file" heap-live known_drop)" 0 "bytes of known_drop"
  say "1,500,000 bytes exactly"
}
heap_attached() {
  local file=$work/attached.fathom go=$work/go pid recorder i
  rm -f "$go"
  FATHOM_KNOWN_GO=$go known heap 500 3000 600 0 >"$work/out" &
  pid=$!
  sleep 1
  fathom record -q --heap=exact -p $pid -o "$file" 2>"$work/errors.attached" &
  recorder=$!
  for i in $(seq 240); do # until the tracer is there
    grep -q fathom /proc/$pid/maps && break
    kill -0 $recorder 2>/dev/null || break
    sleep 0.5
  done
  sleep 3
  touch "$go"
  wait $pid
  wait $recorder || fail "record ended with $?: $(head -c 300 "$work/errors.attached" | tr '\n' ' ')"
  same "$(total "$file" heap-live known_keep)" 1500000 "bytes of known_keep"
  say "1,500,000 bytes exactly"
}
leaks_are_found() {
  fathom record -q --leaks -o "$work/leaks.fathom" -- known heap 10 1000 0 0 >"$work/out"
  same $? 5 "exit status"
  fathom leaks "$work/leaks.fathom" | grep -q known_keep || fail "known_keep is not among the leaks"
  say "known_keep"
}

# ---- probes: bpf_get_attach_cookie is of Linux 5.15
probes_are_known() {
  local file=$work/calls.fathom status
  fathom record -q --probe known_call -o "$file" -- known calls 5000 >"$work/out" 2>"$work/refusal"
  status=$?
  if ! is_at_least 5.15; then
    [ $status != 0 ] || fail "no error where probes cannot work"
    grep -q 'Linux 5\.15' "$work/refusal" || fail "the refusal does not name Linux 5.15: $(cat "$work/refusal")"
    say "refused: needs Linux 5.15"
    return
  fi
  [ $status = 0 ] || fail "record ended with $status: $(cat "$work/refusal")"
  local calls
  calls=$(fathom report --calls --json "$file" | jq -r '.functions[] | select(.name == "known_call") | .calls')
  same "$calls" 5000 "calls of known_call"
  say "5,000 calls"
}

# ---- all that runs
all_processes() {
  local file=$work/all.fathom burner
  known burn 300 >/dev/null &
  burner=$!
  fathom record -q -a --cpu -d 3 -o "$file" || fail "record ended with $?"
  kill $burner
  between "$(share "$file" known_burn)" 60 100 "share of known_burn"
  say "known_burn $(share "$file" known_burn | cut -c 1-4) %, engine $(engine_of "$file")"
}

# ---- a container: pid and mount namespace, with the program in a folder that only it sees, and a control group
group_root() { # of version 2 where it is mounted
  if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
    say /sys/fs/cgroup
  elif [ -d /sys/fs/cgroup/unified ]; then
    say /sys/fs/cgroup/unified
  else
    say /sys/fs/cgroup/memory
  fi
}
# Kernels may be built without the controllers of version 1; then there is nothing to try.
has_groups() { grep -q " $(group_root) cgroup" /proc/mounts; }
container() {
  has_groups || {
    say "this kernel has no control groups of version 1"
    return
  }
  local group file=$work/container.fathom inner
  group=$(group_root)/known
  mkdir -p "$group"
  # Its own root shows the program under another name, and its pids begin at 1.
  unshare --pid --mount --fork --mount-proc sh -c "
    mkdir -p /tmp/inside; mount -t tmpfs inside /tmp/inside; cp '$PWD/known' /tmp/inside/contained
    /tmp/inside/contained cpu 300 >/dev/null; true" &
  inner=$!
  sleep 2
  local pid
  for pid in $(ps -e -o pid=,comm= | awk '$2 == "contained" { print $1 }'); do echo "$pid" >"$group/cgroup.procs"; done
  fathom record -q --cpu --cgroup "$group" -d 3 -o "$file" || fail "record ended with $?"
  ps -e -o pid=,comm= | awk '$2 == "contained" { print $1 }' | xargs -r kill
  wait $inner 2>/dev/null
  between "$(hot_share "$file")" 83 97 "share of known_hot"
  say "known_hot $(hot_share "$file" | cut -c 1-4) %, engine $(engine_of "$file")"
}

# ---- limits, and the kernel's record of who it killed
limit_kills() {
  has_groups || {
    say "this kernel has no control groups of version 1"
    return
  }
  fathom limit -q -m 64m -- known memory 200 1 >"$work/out" 2>&1
  same $? 5 "exit status of 200 MiB below a limit of 64 MiB"
  fathom limit -q -m 300m -- known memory 100 0 >"$work/out" 2>&1
  same $? 0 "exit status of 100 MiB below a limit of 300 MiB"
  say "killed at 64 MiB, passed at 300 MiB"
}
oom_is_told() {
  has_groups || {
    say "nothing was killed, as there is no limit"
    return
  }
  fathom oom --json >"$work/oom.json" || fail "oom ended with $?"
  jq -r '[.. | strings] | .[]' "$work/oom.json" | grep -q '^known$' || fail "the record does not name known"
  say "known"
}

# ---- who may: doctor says which engine this user gets, and record gets that one
as_root() { "$@"; }
# What the README gives to the file; here the process has it.
with_capabilities() {
  local set=+bpf,+perfmon,+sys_ptrace,+checkpoint_restore,+syslog
  setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps $set --ambient-caps $set "$@"
}
as_user() { setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps -all --bounding-set -all "$@"; }
agreement() { # WHO PARANOID
  local who=$1 folder status said engine
  echo "$2" >/proc/sys/kernel/perf_event_paranoid 2>/dev/null || fail "this kernel takes no $2"
  folder=$(mktemp -d /tmp/rights.XXXXXX)
  [ "$who" = as_root ] || chown 1000 "$folder"
  said=$("$who" env HOME="$folder" fathom doctor --json | jq -r '.engine // "none"')
  "$who" env HOME="$folder" fathom record -q -o "$folder/a.fathom" -- known cpu 1 >/dev/null 2>"$folder/errors"
  status=$?
  engine=none
  [ $status != 0 ] || engine=$("$who" env HOME="$folder" fathom report --json "$folder/a.fathom" | jq -r .engine)
  if [ $engine = none ]; then say "record ended with $status: $(head -n 2 "$folder/errors" | tr '\n' ' ')"; fi
  same "$engine" "$said" "engine of record, where doctor says $said ($(head -c 200 "$folder/errors" | tr '\n' ' '))"
  if [ "$engine" = bpf ] || [ "$engine" = perf ]; then between "$(hot_share "$folder/a.fathom")" 75 99 "share of known_hot"; fi
  if [ "$who" = as_root ] && [ $has_bpf = yes ]; then same "$engine" bpf "engine of root"; fi
  echo "$3" >/proc/sys/kernel/perf_event_paranoid
  say "engine $engine, as doctor says"
}

# ---- what this kernel lacks
without_btf() {
  unshare --mount bash -c '
    mount -t tmpfs none /sys/kernel/btf || exit 1
    '"$(declare -f fail say same)"'
    said=$(fathom doctor --json | jq -r .engine)
    same "$said" perf "engine that doctor names"
    fathom record -q --cpu -o '"$work"'/btf.fathom -- known cpu 1 >/dev/null || fail "record ended with $?"
    same "$(fathom report --json '"$work"'/btf.fathom | jq -r .engine)" perf engine
    fathom doctor | grep -q -i "btf" || fail "doctor does not name BTF"
    say "engine perf; doctor names BTF"'
}

# ---- page tables of five levels, where the kernel and the emulated processor have them
high_addresses() {
  local file=$work/high.fathom
  fathom record -q --cpu -o "$file" -- known high 2 >"$work/out" || fail "record ended with $?"
  between "$(share "$file" known_high)" 80 100 "share of known_high"
  between "$(share "$file" main)" 80 100 "share of main"
  say "code at $(cut -d ' ' -f 2 "$work/out"), $(share "$file" known_high | cut -c 1-4) % below known_high"
}

# ---- processors that come and go
cpu_off_and_on() {
  local file=$work/hotplug.fathom online=/sys/devices/system/cpu/cpu1/online
  [ -w $online ] || fail "cpu1 cannot be taken away here"
  echo 0 >$online
  fathom record -q --cpu -o "$work/offline.fathom" -- known cpu 1 >/dev/null || fail "record with cpu1 offline ended with $?"
  between "$(hot_share "$work/offline.fathom")" 75 99 "share of known_hot with cpu1 offline"
  taskset 1 known cpu 300 >/dev/null &
  local pid=$!
  fathom record -q --cpu -p $pid -d 8 -o "$file" &
  local recorder=$!
  sleep 4
  echo 1 >$online
  taskset -p 2 $pid >/dev/null
  wait $recorder || fail "record ended with $?"
  kill $pid
  # All of its time is sampled, also that on the CPU that came later.
  local samples cpu
  samples=$(fathom report --json "$file" | jq -r '.samples / .frequency_hz') cpu=$(fathom report --json "$file" | jq -r .cpu_s)
  between "$samples" "$(jq -n "$cpu * 0.7")" "$(jq -n "$cpu * 1.3")" "seconds in samples, of $cpu s of CPU time"
  printf '%.2f s sampled of %.2f s\n' "$samples" "$cpu"
}

default=$(cat /proc/sys/kernel/perf_event_paranoid)
parts() {
  local part level
  for part in "$@"; do
    case $part in
      paranoid=*) echo "${part#*=}" >/proc/sys/kernel/perf_event_paranoid ;; # for the parts after it
      doctor) row "doctor and record agree, root, default settings" agreement as_root "$default" "$default" ;;
      cpu)
        row "CPU time, user stacks" cpu_by_choice
        row "complete stacks" complete_stacks
        row "CPU time, kernel stacks" kernel_stacks
        ;;
      perf) row "CPU time, --engine perf" cpu_by_perf ;;
      waits)
        row "waits, exact sum" waits_are_known
        row "waits, who ends them" waker_is_known
        ;;
      memory)
        row "memory series" memory_is_known
        row "watch" watch_is_known
        ;;
      heap)
        row "heap, launched" heap_launched
        row "heap, attached" heap_attached
        row "leaks" leaks_are_found
        ;;
      probes) row "probes" probes_are_known ;;
      all) row "all processes (-a)" all_processes ;;
      container) row "container (pid and mount namespace, control group)" container ;;
      limit)
        row "limit" limit_kills
        row "oom" oom_is_told
        ;;
      rights)
        for level in 4 3 2 -1; do
          row "root, perf_event_paranoid $level" agreement as_root $level "$default"
          row "capabilities only, perf_event_paranoid $level" agreement with_capabilities $level "$default"
          row "plain user, perf_event_paranoid $level" agreement as_user $level "$default"
        done
        ;;
      no-btf) row "without BTF" without_btf ;;
      high) row "code above 1 << 47 (page tables of five levels)" high_addresses ;;
      cpus) row "CPU hot-plug" cpu_off_and_on ;;
      *)
        say "suite: no part '$part'"
        exit 2
        ;;
    esac
  done
}
[ $# -gt 0 ] || set -- full
for part in "$@"; do
  case $part in
    quick) parts doctor cpu waits heap container limit ;;
    full) parts doctor cpu perf waits memory heap probes all container limit rights no-btf high cpus ;;
    *) parts "$part" ;;
  esac
done
