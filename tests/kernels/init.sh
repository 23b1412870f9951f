#!/bin/bash
# The first process of the emulator's userland: mounts what a system has, runs the parts of the suite that the kernel's command line
# names (suite=PART,PART,), and switches the machine off.
export PATH=/usr/bin:/bin HOME=/root TERM=dumb LC_ALL=C
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tracefs tracefs /sys/kernel/tracing
mount -t securityfs securityfs /sys/kernel/security
mount -t bpf bpf /sys/fs/bpf
line=" $(cat /proc/cmdline) "
version_1() {
  mount -t tmpfs groups /sys/fs/cgroup
  for controller in cpu,cpuacct memory pids cpuset; do
    mkdir /sys/fs/cgroup/$controller
    mount -t cgroup -o $controller cgroup /sys/fs/cgroup/$controller
  done
}
case $line in
  *" cgroup=v1 "*) version_1 ;;
  *" cgroup=hybrid "*)
    version_1
    mkdir /sys/fs/cgroup/unified
    mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified
    ;;
  *)
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    echo "+cpu +memory +pids" >/sys/fs/cgroup/cgroup.subtree_control
    ;;
esac
hostname emulated
suite=${line#* suite=}
suite=${suite%% *}
echo # the firmware has left the cursor somewhere
echo "KERNEL $(uname -r)"
IFS=, read -r -a parts <<<"$suite"
bash /trial/suite.sh "${parts[@]}" </dev/null
echo "SUITE ENDED with $?"
sync
sleep 0.2
echo o >/proc/sysrq-trigger
sleep 60
