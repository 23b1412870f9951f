#!/usr/bin/env bash
# Installs the Debian packages that are missing for the named sets, and says which. Does nothing, and needs no network
# and no rights, when all of them are there.
#
#   scripts/setup-debian.sh [--list] SET...        sets: build static image trials test bench web fuzz uml tidy pictures kernels
#
# Of `A|B` the first one that the distribution has is installed. A package that ends in `?` is left out, with a line about it, where the
# distribution does not have it. `src:NAME?` is the source of a package, which is unpacked below build/sources and installed nowhere.
set -euo pipefail

declare -A packages=(
  [build]="g++ cmake ninja-build pkg-config clang-14|clang-19|clang llvm-14|llvm-19|llvm bpftool libbpf-dev libdw-dev libelf-dev libiberty-dev
           libzydis-dev libzstd-dev liblzma-dev zlib1g-dev libxxhash-dev libcli11-dev libfmt-dev libexpected-dev
           nlohmann-json3-dev libboost-math-dev libutf8proc-dev libgtest-dev libgmock-dev"
  # redis-tools also holds the server itself (redis-check-rdb under another name), without a service that would start.
  # The allocators' libraries are looked into and run, and so are programs linked with musl.
  [test]="binutils elfutils xz-utils redis-tools procps nodejs chromium linux-perf? golang-go?
          libjemalloc2 libjemalloc-dev? libmimalloc2.0? libtcmalloc-minimal4|libtcmalloc-minimal4t64? libgoogle-perftools-dev? musl-tools heaptrack?
          valgrind? bpftrace? jq prometheus? tmux? protobuf-compiler? graphviz? sqlite3? src:mimalloc? dwz? debuginfod?"
  [bench]="redis-tools procps libdevel-nytprof-perl? libbenchmark-dev heaptrack? jq linux-perf?"
  # make static, packages: what libdw.a needs, and the sources of what Debian ships as a shared library alone.
  [static]="binutils xz-utils jq liblzma-dev libbz2-dev src:zydis src:fmtlib"
  [image]="podman buildah"
  # scripts/static-trials.sh, package-trials.sh, container-trials.sh; catatonit for pods
  [trials]="debootstrap bsdutils podman buildah runc catatonit"
  [web]="nodejs npm"  # make web; who only builds fathom needs neither
  [fuzz]="clang libclang-rt-14-dev|libclang-rt-dev"
  [uml]="user-mode-linux"  # scripts/limit-version-2.sh
  [kernels]="qemu-system-x86 seabios cpio jq libcap2-bin procps gcc"  # scripts/kernels.sh
  [tidy]="clang-tidy clang-format"
  [pictures]="redis-tools curl chromium imagemagick"  # scripts/gallery.sh
)

say() { printf 'setup: %s\n' "$*" >&2; }
give_up() {
  say "$1"
  printf 'try: %s\n' "$2" >&2
  exit 1
}

list=no
if [ "${1:-}" = --list ]; then
  list=yes
  shift
fi
[ $# -gt 0 ] || give_up "no set of packages was named" "scripts/setup-debian.sh build test"

wanted=()
for set_name in "$@"; do
  [ -n "${packages[$set_name]:-}" ] || give_up "unknown set '$set_name'" "one of: ${!packages[*]}"
  read -r -d '' -a names <<<"${packages[$set_name]}" || true
  wanted+=("${names[@]}")
done
if [ $list = yes ]; then
  printf '%s\n' "${wanted[@]%\?}" | sed 's/|.*//' | grep -v '^src:' | sort -u
  exit 0
fi

command -v dpkg-query >/dev/null 2>&1 && command -v apt-get >/dev/null 2>&1 ||
  give_up "this is neither Debian nor Ubuntu, so nothing can be installed here" \
    "install the like of: $(printf '%s ' "${wanted[@]%\?}"); then run make with SETUP=no"

sources=$(cd "$(dirname "$0")/.." && pwd)/build/sources
installed() { # NAME, or A|B: one of them
  if [[ $1 = src:* ]]; then
    compgen -G "$sources/${1#src:}-*" >/dev/null
    return
  fi
  local name
  for name in ${1//|/ }; do
    dpkg-query -W -f='${db:Status-Status}\n' "$name" 2>/dev/null | grep -x installed >/dev/null && return # not: not-installed
  done
  return 1
}

# With lists of its own: those of the machine seldom have sources, and stay as they are.
get_source() {
  local folder
  folder=$(mktemp -d)
  mkdir -p "$folder/parts" "$folder/lists/partial" "$sources"
  cat /etc/apt/sources.list.d/*.sources 2>/dev/null | sed 's/^Types:.*/Types: deb-src/' >"$folder/parts/all.sources" || true
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | sed -n 's/^deb /deb-src /p' >"$folder/parts/all.list" || true
  local options=(-q -o Dir::Etc::sourceparts="$folder/parts" -o Dir::Etc::sourcelist=/dev/null
    -o Dir::State::lists="$folder/lists" -o Dir::Cache="$folder")
  local status=0
  (cd "$folder" && apt-get "${options[@]}" update && apt-get "${options[@]}" source --download-only "$1") \
    >"$folder/log" 2>&1 </dev/null || status=1
  # Into NAME-VERSION, whatever the archive calls its folder.
  local archive version
  archive=$(find "$folder" -maxdepth 1 -name "$1_*.orig.tar.*" ! -name '*.asc')
  version=${archive##*/"$1"_}
  [ $status = 0 ] && tar -xf "$archive" -C "$sources" --one-top-level="$1-${version%.orig.tar.*}" --strip-components=1 2>>"$folder/log" || status=1
  rm -rf "$folder"
  return $status
}

missing=() without_source=()
for name in "${wanted[@]}"; do
  installed "${name%\?}" && continue
  case $name in
    src:*) without_source+=("${name#src:}") ;;
    *) missing+=("$name") ;;
  esac
done

# Last, as what unpacks them may be missing before.
end() {
  for name in "${without_source[@]}"; do
    if get_source "${name%\?}"; then
      say "unpacked the source of ${name%\?}"
    else
      say "the source of ${name%\?} is not to be had; what needs it will be skipped"
    fi
  done
  exit 0
}
[ ${#missing[@]} -gt 0 ] || end

if [ "$(id -u)" = 0 ]; then
  as_root() { env "$@"; }
elif command -v sudo >/dev/null 2>&1; then
  if [ -t 0 ]; then as_root() { sudo env "$@"; }; else as_root() { sudo -n env "$@"; }; fi
else
  give_up "these packages are missing, and there is neither root nor sudo to install them: ${missing[*]%\?}" \
    "as root: apt-get install --no-install-recommends ${missing[*]%\?}"
fi

# Packages may want to start their services; this machine is only borrowed. The usual way to refuse is a policy file,
# which goes away with this script, unless the machine has one of its own.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap 'as_root rm -f '$policy EXIT
  printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
  as_root chmod 755 $policy
fi

export LC_ALL=C.UTF-8
apt() { as_root DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" </dev/null; }

say "reading the package lists"
apt update >/dev/null || give_up "the package lists could not be read" "check the network and /etc/apt"

# The first of A|B that the distribution has.
candidate() {
  local name
  for name in ${1//|/ }; do
    if [ -n "$(apt-cache policy "$name" | sed -n 's/^  Candidate: //p' | grep -v '(none)')" ]; then
      echo "$name"
      return
    fi
  done
}
available=()
for name in "${missing[@]}"; do
  found=$(candidate "${name%\?}")
  case $found$name in
    *\?) [ -n "$found" ] || say "${name%\?} is not in this distribution; what needs it will be skipped" ;;
    "$name") found=${name%%|*} ;; # apt-get says what is wrong
  esac
  [ -z "$found" ] || available+=("$found")
done
[ ${#available[@]} -gt 0 ] || end

say "installing: ${available[*]}"
log=$(mktemp)
if ! apt install -y --no-install-recommends "${available[@]}" >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  rm -f "$log"
  give_up "apt-get could not install them" "apt-get install --no-install-recommends ${available[*]}"
fi
say "installed $(grep -c '^Setting up ' "$log" || true) packages, with what they depend on"
rm -f "$log"
end
