// pivot ROOT COMMAND [ARGUMENT...]: makes ROOT the root of this mount namespace, unmounts the old one, and becomes COMMAND,
// as a container's run time does. Linked statically, because ROOT has no loader.
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  if (mount(argv[1], argv[1], NULL, MS_BIND | MS_REC, NULL) != 0 || chdir(argv[1]) != 0 ||
      syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0 || chdir("/") != 0) {
    perror(argv[1]);
    return 2;
  }
  execv(argv[2], argv + 2);
  perror(argv[2]);
  return 2;
}
