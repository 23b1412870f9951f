#!/usr/bin/env bash
# Tries the image of `make image` with podman as docs/containers.md and packaging/examples say: from the host, from a container
# with the capabilities that each use needs, next to a server as compose.yaml does, and as the Kubernetes pod of sidecar.yaml.
#
#   scripts/container-trials.sh FATHOM        FATHOM: the static program
#
# Needs root and podman (scripts/setup-debian.sh trials). Images and containers are kept apart from those of this machine.
set -uo pipefail
fathom=$(realpath "$1")
here=$(realpath "$(dirname "$0")/..")
[ "$(id -u)" = 0 ] || { echo "container-trials: needs root" >&2; exit 2; }
command -v podman >/dev/null || { echo "container-trials: podman is missing" >&2; echo "try: scripts/setup-debian.sh trials" >&2; exit 2; }
work=$(mktemp -d)
cleanup() {
  podman rm --all --force
  umount -R -l "$work/storage/overlay"
  rm -rf --one-file-system "$work"
}
trap 'cleanup >/dev/null 2>&1' EXIT
# The usual limits of a container are raised, which not every root may do. runc also knows a machine with both versions of cgroups.
cat >"$work/containers.conf" <<END
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
$(command -v runc >/dev/null && printf '[engine]\nruntime = "runc"\n')
END
printf '[storage]\ndriver = "overlay"\ngraphroot = "%s/storage"\nrunroot = "%s/run"\n' "$work" "$work" >"$work/storage.conf"
export CONTAINERS_CONF=$work/containers.conf CONTAINERS_STORAGE_CONF=$work/storage.conf

mkdir "$work/server" "$work/recordings"
gcc -O1 -g -static "$here/scripts/trials/target.c" -o "$work/server/my-server" || exit 2
printf 'FROM scratch\nCOPY my-server /my-server\nENTRYPOINT ["/my-server"]\n' >"$work/server/Containerfile"
podman build --quiet --tag localhost/my-server "$work/server" >/dev/null && "$here/scripts/image.sh" "$fathom" localhost/fathom >/dev/null 2>&1 ||
  { echo "container-trials: the images cannot be built" >&2; exit 1; }
said=$(podman run --rm --network=none localhost/fathom --version 2>&1) ||
  { printf 'container-trials: podman cannot run containers here: %s\n' "$said" >&2; exit 2; }

failures=0
check() { # NAME COMMAND...: a line of the result
  local name=$1 said
  shift
  if said=$("$@" 2>&1); then
    printf 'good    %s\n' "$name"
  else
    printf 'FAILED  %s\n%s\n' "$name" "$(tail -n 15 <<<"$said")"
    failures=$((failures + 1))
  fi
}
holds() { # TEXT COMMAND...: it succeeds, and its output has the text
  local text=$1 said
  shift
  said=$("$@" 2>&1) || { printf '%s\n' "$said"; return 1; }
  grep -qF -- "$text" <<<"$said" || { printf 'does not say "%s":\n%s\n' "$text" "$said"; return 1; }
}
report() { # FILE [OPTION...]: in a container without a capability
  podman run --rm --network=none --cap-drop=all -v "$work/recordings:/recordings" localhost/fathom report "$@"
}
few=(--cap-drop=all --cap-add=BPF,PERFMON,SYS_PTRACE)
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -lt 3 ] || few+=(--cap-add=SYS_ADMIN)
inside() { # OPTION... -- ARGUMENT...: fathom in a container
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  podman run --rm --network=none --security-opt=seccomp=unconfined -v "$work/recordings:/recordings" "${options[@]}" localhost/fathom "$@"
}
metrics_of() { # CONTAINER: what `watch` serves in its network
  nsenter -t "$(podman inspect --format '{{.State.Pid}}' "$1")" -n \
    bash -c 'exec 9<>/dev/tcp/127.0.0.1/9105 && printf "GET /metrics HTTP/1.0\r\n\r\n" >&9 && timeout 5 cat <&9'
}

podman run --detach --name server --network=none --stop-signal=KILL localhost/my-server >/dev/null
pid=$(podman inspect --format '{{.State.Pid}}' server)
check "from the host: CPU" "$fathom" record -p "$pid" -d 2 -o "$work/recordings/host.fathom"
check "... a report in a container without capabilities" holds spin_here report host.fathom
check "from the host: heap" "$fathom" record --heap=exact -p "$pid" -d 2 -o "$work/recordings/heap.fathom"
check "... names who allocates" holds keep_block report heap.fathom --metric heap-live
check "from a container: CPU, by the BPF engine" inside --pid=host "${few[@]}" -- record --engine bpf -p "$pid" -d 2 -o in.fathom
check "... names its function" holds spin_here report in.fathom
check "from a container: heap" inside --pid=host "${few[@]}" --cap-add=SYS_ADMIN -- record --heap=exact -p "$pid" -d 2 -o in-heap.fathom
check "... names who allocates" holds keep_block report in-heap.fathom --metric heap-live
check "a filter in the way is named" holds "seccomp filter" podman run --rm --network=none "${few[@]}" localhost/fathom doctor
check "... and takes probes away, too" holds "breakpoints of --probe     no" podman run --rm --network=none "${few[@]}" localhost/fathom doctor
check "as in compose.yaml" inside --pid=container:server "${few[@]}" --security-opt=no-new-privileges --read-only \
  -v /sys/kernel/btf:/sys/kernel/btf:ro -- record -n my-server -d 2 -o next.fathom
check "... names its function" holds spin_here report next.fathom
check "as in daemonset.yaml" inside --pid=host "${few[@]}" --security-opt=no-new-privileges --read-only -- record -a -d 4 -o node.fathom --flight --cpu --off-cpu
check "... names its function" holds spin_here report node.fathom --by function

if command -v catatonit >/dev/null; then
  check "the pod of sidecar.yaml" podman play kube "$here/packaging/examples/sidecar.yaml"
  sleep 3
  check "... its metrics" holds 'fathom_process_up{process="my-server"' metrics_of my-server-fathom
  podman play kube --down "$here/packaging/examples/sidecar.yaml" >/dev/null 2>&1
else
  echo "skipped the pod of sidecar.yaml: podman needs catatonit for it"
fi
[ $failures -eq 0 ] || exit 1
echo "container-trials: all good"
