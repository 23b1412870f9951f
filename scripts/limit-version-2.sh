#!/usr/bin/env bash
# Runs the tests of `fathom limit` where control groups are of version 2, on a machine that has version 1: in user-mode Linux, which
# boots on this file system in two seconds, needs no rights, and has groups of its own. The heap's test is left out: there is no tracing.
#
#   scripts/limit-version-2.sh BUILD_FOLDER          needs linux.uml (scripts/setup-debian.sh uml), or its path in UML; a minute
set -euo pipefail
build=$(realpath "${1:?usage: scripts/limit-version-2.sh BUILD_FOLDER}")
uml=${UML:-$(command -v linux.uml || true)}
[ -n "$uml" ] || { echo "limit-version-2: linux.uml is not installed" >&2; echo "try: scripts/setup-debian.sh uml" >&2; exit 1; }
for test in src/tools/limit/tools_limit_test tests/limit_command_test; do
  [ -x "$build/$test" ] || { echo "limit-version-2: $build/$test is not built" >&2; exit 1; }
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Its root is ours, so it writes to nothing but $folder and what it mounts.
cat >"$folder/init" <<INIT
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin TMPDIR=/run
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /run
mount -t cgroup2 none /sys/fs/cgroup
exec >"$folder/log" 2>&1
cd /run
status=0
grep -qw memory /sys/fs/cgroup/cgroup.controllers || status=1
"$build/src/tools/limit/tools_limit_test" --gtest_filter='RealGroup.*' || status=1
"$build/tests/limit_command_test" --gtest_filter='-*Heap*' || status=1
# As a user's session has it: a group whose parent gives memory to its children, and a scope that is delegated to us.
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/us
inside() { sh -c 'echo \$\$ >/sys/fs/cgroup/us/cgroup.procs && exec "\$@"' sh "\$@"; }
inside "$build/src/cli/fathom" limit --memory 64m -- /bin/true || status=1
inside "$build/src/cli/fathom" limit --in-scope --memory 64m -- /bin/true || status=1
[ "\$(find /sys/fs/cgroup -mindepth 1 -type d)" = /sys/fs/cgroup/us ] || { echo "groups were left behind"; status=1; }
# With swap, which this machine may not have: a limit that only swap made pass is not reported as a plain pass.
if mkswap /dev/ubda >/dev/null && swapon /dev/ubda; then
  "$build/src/cli/fathom" limit --memory 30m -- "$build/tests/truth/memory_eater" 60 0 flat
  [ \$? = 5 ] || { echo "swap evaded the limit"; status=1; }
  "$build/src/cli/fathom" limit --memory 30m --swap 100m -- "$build/tests/truth/memory_eater" 60 0 flat
  [ \$? = 6 ] || { echo "swap was not seen"; status=1; }
else
  echo "no swap could be made"
  status=1
fi
echo "status \$status"
sync
echo o >/proc/sysrq-trigger
sleep 10
INIT
chmod +x "$folder/init"
truncate -s 256M "$folder/swap"
timeout 600 "$uml" root=/dev/root ubd0="$folder/swap" rootfstype=hostfs rootflags=/ rw mem=700M init="$folder/init" loglevel=1 con=null </dev/null >"$folder/boot" 2>&1 || true
cat "$folder/log" 2>/dev/null || cat "$folder/boot"
grep -qx 'status 0' "$folder/log"
