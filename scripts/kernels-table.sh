#!/usr/bin/env bash
# docs/kernels.md from the rows that scripts/kernels.sh has gathered: kernels-table.sh FOLDER >docs/kernels.md. Kernels that were not
# run this time keep the rows of the time before, which lie in the folder.
set -uo pipefail
rows=$1
kernels=()
for kernel in 5.10 6.1 6.12 newest; do [ ! -s "$rows/$kernel.tsv" ] || kernels+=("$kernel"); done
version() { cat "$rows/$1.version" 2>/dev/null; }

cat <<'HEAD'
# Kernels

`make kernels` writes this page. It boots kernels of Debian's archive in an emulator without KVM (scripts/kernels.sh) and runs
tests/kernels/suite.sh on each, as root unless a row says otherwise. A row compares fathom's answer with that of a program with known
answers (tests/kernels/known.c), so it can fail. Times mean nothing under emulation; no row measures a cost.

## What needs which kernel

| kernel | what it adds for fathom |
|---|---|
| 5.8 | CAP_BPF and CAP_PERFMON, the rings of the engine bpf |
| 5.10 | the oldest kernel tried here. The engine bpf samples CPUs with user and kernel stacks and counts every wait exactly, with separate programs (`record/bpf_programs/current_task.h`): thread accounts are in a hash table of 15 MiB, and a walk looks up its buffer for every frame |
| 5.15 | `--probe` and static probes of the heap (`bpf_get_attach_cookie`); the engine bpf's programs for newer kernels (`bpf_task_pt_regs`) |
| 6.1 | the table of crowded threads takes memory only as it fills |

| setting | effect |
|---|---|
| CPUs switched off and on while fathom records, by hand or by a suspend | fathom checks once a second, samples the new ones (engines bpf and perf), and the report has a note |
| `nosmt`, CPUs that are off at boot, more possible CPUs than present | none |
| `lockdown=confidentiality` | BPF programs may not read memory: `record` uses the engine perf and says why; `doctor` names the remedy |
| `lockdown=integrity` | none |
| no BTF (`/sys/kernel/btf/vmlinux`) | no BPF program of fathom can be loaded: as above |
| `proc_mem.force_override=ptrace` or `never` (since 6.12), which restrict writes through `/proc/PID/mem` | the heap is traced all the same ([heap](heap.md)) |
| `kernel.perf_event_paranoid` 3 and 4, the defaults of Debian's and Ubuntu's kernels | perf events need CAP_SYS_ADMIN |

## What holds where

HEAD
if [ ${#kernels[@]} = 0 ]; then
  echo "Not run yet: \`make kernels\`."
  exit 0
fi
printf '| what |'
for kernel in "${kernels[@]}"; do printf ' %s |' "$(version "$kernel")"; done
printf '\n|---|'
for kernel in "${kernels[@]}"; do printf -- '---|'; done
printf '\n'
for kernel in "${kernels[@]}"; do cut -f 1,2 "$rows/$kernel.tsv"; done | awk '!seen[$0]++' | while IFS=$'\t' read -r boot name; do
  title=$name
  [ "$boot" = default ] || title="$name ($(echo "$boot" | tr - ' '))"
  printf '| %s |' "$title"
  for kernel in "${kernels[@]}"; do
    printf ' %s |' "$(awk -F '\t' -v b="$boot" -v n="$name" '$1 == b && $2 == n { gsub(/\|/, "/", $4); print ($3 == "pass" ? "" : "**FAILS** ") substr($4, 1, 160) }' "$rows/$kernel.tsv")"
  done
  printf '\n'
done
