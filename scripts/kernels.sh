#!/usr/bin/env bash
# Boots kernels of Debian's archive in an emulator (no KVM) and runs tests/kernels/suite.sh on each with the program that was built
# here; writes docs/kernels.md. A boot takes one to two minutes, the whole suite five to ten for each kernel.
#
#   scripts/kernels.sh [--quick | --part PART]... [--require] [KERNEL...]     kernels: 5.10 6.1 6.12 newest; without any: all of them
#
# --quick runs what every change has to pass, in one boot with default settings, and leaves docs/kernels.md alone; --part does so
# with one part of the suite. Their rows take the place of the same rows of the time before, from which
# `scripts/kernels-table.sh build/kernels/rows >docs/kernels.md` regenerates the page.
# FATHOM=FILE is another program than build/release/src/cli/fathom. KERNELS_MIRROR=URL is another archive than that of this machine's
# package lists. Exit status 1 if a row fails, 77 with a line that says why when nothing can be booted here (--require: 1).
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
folder=$PWD/build/kernels
program=${FATHOM:-build/release/src/cli/fathom}
parts=() skip=77 kernels=()
while [ $# -gt 0 ]; do
  word=$1
  shift
  case $word in
    --quick) parts+=(quick) ;;
    --part)
      parts+=("${1:-}")
      shift
      ;;
    --require) skip=1 ;;
    5.10 | 6.1 | 6.12 | newest) kernels+=("$word") ;;
    *)
      echo "kernels: no kernel '$word'; known are 5.10 6.1 6.12 newest" >&2
      exit 2
      ;;
  esac
done
[ ${#kernels[@]} -gt 0 ] || kernels=(5.10 6.1 6.12 newest)
results=$folder/test-results # as those of scripts/run-tests.sh
rm -rf "$results"
mkdir -p "$folder" "$results"

say() { printf 'kernels: %s\n' "$*" >&2; }
skip() {
  say "skipped: $*"
  echo "0 $((skip == 1)) $((skip == 77))" >"$results/counts"
  exit $skip
}

declare -A suite=([5.10]=bullseye [6.1]=bookworm [6.12]=trixie [newest]=sid)
declare -A pattern=(
  [5.10]='^linux-image-5\.10\..*-cloud-amd64-unsigned$' [6.1]='^linux-image-6\.1\..*-cloud-amd64-unsigned$'
  [6.12]='^linux-image-6\.12\..*-cloud-amd64-unsigned$' [newest]='^linux-(binary-unsigned-[0-9].*-cloud-amd64|image-[0-9].*-cloud-amd64-unsigned)$')

# ---- what is needed
command -v qemu-system-x86_64 >/dev/null || skip "there is no qemu-system-x86_64 (scripts/setup-debian.sh kernels)"
for command in cpio jq setpriv gcc dpkg-deb apt-get; do
  command -v $command >/dev/null || skip "there is no $command (scripts/setup-debian.sh kernels)"
done
[ -x "$program" ] || {
  say "there is no $program: make build"
  exit 1
}

# ---- kernels: package lists of our own, so those of the system stay as they are
apt_of() { # KERNEL WORD...
  local lists=$folder/apt/${suite[$1]}
  local tool=$2
  shift 2
  "$tool" -q -o Dir::Etc::sourcelist="$lists/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::Lists="$lists/lists" \
    -o Dir::Cache="$lists/cache" -o Acquire::Languages=none -o APT::Sandbox::User=root -o Acquire::Retries=2 \
    -o Acquire::http::Timeout=30 -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false "$@" </dev/null
}
mirror() {
  [ -z "${KERNELS_MIRROR:-}" ] || {
    echo "$KERNELS_MIRROR"
    return
  }
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | grep -E '/debian/?$' | head -n 1
}
fetch() { # KERNEL
  local into=$folder/$1 archive name file
  [ ! -f "$into/vmlinuz" ] || return 0
  archive=$(mirror)
  [ -n "$archive" ] || skip "the package lists of this machine name no Debian archive; KERNELS_MIRROR=URL does"
  mkdir -p "$into" "$folder/apt/${suite[$1]}/lists/partial" "$folder/apt/${suite[$1]}/cache/archives/partial"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive ${suite[$1]} main" >"$folder/apt/${suite[$1]}/sources.list"
  apt_of "$1" apt-get update >"$into/apt.log" 2>&1 || skip "the package list of ${suite[$1]} cannot be read ($into/apt.log)"
  name=$(apt_of "$1" apt-cache pkgnames | grep -E "${pattern[$1]}" | sort -V | tail -n 1)
  [ -n "$name" ] || skip "${suite[$1]} has no kernel $1"
  say "fetching $name"
  (cd "$into" && apt_of "$1" apt-get download "$name") >>"$into/apt.log" 2>&1 || skip "$name cannot be fetched ($into/apt.log)"
  file=$(find "$into" -name '*.deb' | head -n 1)
  dpkg-deb -x "$file" "$into/unpacked"
  find "$into/unpacked" \( -name 'vmlinuz-*' -o -name 'vmlinuz.unsigned' -o -name vmlinuz \) -type f -exec cp {} "$into/vmlinuz" \;
  rm -rf "$into/unpacked" "$file"
  [ -f "$into/vmlinuz" ] || skip "$name holds no kernel image"
  echo "$name" >"$into/package"
}

# ---- the userland: programs of this machine with their libraries
commands="awk bash capsh cat chmod chown cp cut date dmesg env find grep head hostname id jq kill ls mkdir mktemp mount mv nproc printf ps readlink rm
  sed seq setpriv sh sleep sort sync sysctl tail taskset timeout touch tr umount uname unshare wc xargs"
copy_with_libraries() { # FILE INTO NAME
  mkdir -p "$root$2"
  cp -L "$1" "$root$2/$3"
  ldd "$1" 2>/dev/null | grep -oE '/[^ ]+' | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    [ -f "$root$library" ] || cp -L "$library" "$root$library"
  done
}
build_userland() {
  local name path
  root=$folder/root
  rm -rf "$root"
  mkdir -p "$root"/{bin,lib,lib64,usr/bin,etc,proc,sys,dev,tmp,run,root,trial,var}
  chmod 1777 "$root/tmp"
  for name in $commands; do
    path=$(PATH=/usr/bin:/bin:/usr/sbin:/sbin type -P "$name") || skip "this machine has no $name for the userland"
    copy_with_libraries "$path" /usr/bin "$name"
  done
  cp "$root/usr/bin/sh" "$root/usr/bin/bash" "$root/bin/"
  printf 'root:x:0:0::/root:/bin/bash\nuser:x:1000:1000::/tmp:/bin/bash\n' >"$root/etc/passwd"
  printf 'root:x:0:\nuser:x:1000:\n' >"$root/etc/group"
  copy_with_libraries "$program" /trial fathom
  gcc -O2 -g -fno-omit-frame-pointer -Wall -Werror -o "$root/trial/known" tests/kernels/known.c -pthread || exit 1
  cp tests/kernels/suite.sh "$root/trial/"
  cp tests/kernels/init.sh "$root/init"
  chmod -R a+rX "$root"
  chmod 755 "$root/init" "$root/trial/suite.sh"
  (cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$folder/root.cpio"
}

# boot KERNEL NAME APPEND PARTS...: rows go to the file $rows, the console to logs/KERNEL.NAME.log.
boot() {
  local kernel=$1 name=$2 append=$3 log began started limit=1500 try
  shift 3
  log=$folder/logs/$kernel.$name.log began=$(date +%s)
  [ ${#parts[@]} = 0 ] || limit=800 # two minutes on a quiet machine; 493 s were seen at a load of 17
  # An emulated machine may hang while its host is busy; if it hangs twice that is a failure. Where it gets no CPU in the moment in
  # which the kernel counts the ticks of its timer, the kernel would panic: no_timer_check, as in the images of clouds.
  for try in 1 2; do
    started=$(date +%s)
    timeout -k 5 $limit qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp "$processors" -m 3072 -nographic -no-reboot -net none \
      -kernel "$folder/$kernel/vmlinuz" -initrd "$folder/root.cpio" \
      -append "console=ttyS0 panic=-1 quiet loglevel=1 rdinit=/init no_timer_check $append suite=$(printf '%s,' "$@")" </dev/null 2>&1 | sed -u 's,\r,,g' >"$log"
    ! grep -q '^SUITE ENDED' "$log" || break
    say "$kernel, $name: it stopped after $(($(date +%s) - started)) s, in the middle of the suite (try $try)"
  done
  sed -n "s/^ROW\t/$name\t/p" "$log" >>"$rows"
  grep -q '^SUITE ENDED' "$log" || printf '%s\tthe suite ends\tFAIL\tit did not; %s\n' "$name" "$log" >>"$rows"
  sed -n 's/^KERNEL //p' "$log" | head -n 1 >"$folder/rows/$kernel.version"
  say "$kernel, $name: $(grep -c "^$name	.*	pass	" "$rows") passed, $(grep -c "^$name	.*	FAIL	" "$rows") failed, $(($(date +%s) - began)) s"
  grep "^$name	.*	FAIL	" "$rows" | sed 's/^/  /' >&2
}

processors=2
mkdir -p "$folder/rows" "$folder/logs"
for kernel in "${kernels[@]}"; do fetch "$kernel"; done
build_userland
# Those of this time, in the place of the same ones of the time before.
keep_rows() { # KERNEL
  local kept=$folder/rows/$1.tsv
  touch "$kept"
  awk -F '\t' 'FILENAME == ARGV[1] { new[$1 FS $2] = 1; next } !(($1 FS $2) in new)' "$rows" "$kept" >"$kept.before"
  cat "$rows" >>"$kept.before"
  mv "$kept.before" "$kept"
}
status=0 passed=0 failed=0
for kernel in "${kernels[@]}"; do
  rows=$folder/rows/$kernel.now
  : >"$rows"
  [ ${#parts[@]} -gt 0 ] || rm -f "$folder/rows/$kernel.tsv"
  if [ ${#parts[@]} -gt 0 ]; then
    boot "$kernel" default "" "${parts[@]}"
  else
    boot "$kernel" default "" full
    boot "$kernel" cgroup-v1 "cgroup=v1" container limit
    boot "$kernel" cgroup-hybrid "cgroup=hybrid" container
    boot "$kernel" lockdown "lockdown=confidentiality" doctor cpu
    processors=2,maxcpus=200 boot "$kernel" one-CPU-of-200 "maxcpus=1 nosmt" cpu waits cpus
  fi
  passed=$((passed + $(grep -c '	pass	' "$rows")))
  failed=$((failed + $(grep -c '	FAIL	' "$rows")))
  keep_rows "$kernel"
done
[ $failed = 0 ] || status=1
if [ ${#parts[@]} = 0 ]; then scripts/kernels-table.sh "$folder/rows" >docs/kernels.md || status=1; fi
echo "$passed $failed 0" >"$results/counts"
echo
echo "$passed passed, $failed failed"
exit $status
