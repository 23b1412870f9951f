// For tests: whether this machine lets us have the namespaces that a private copy is put into.
#pragma once

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fathom::process {

inline bool may_make_namespaces() {
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr int kApart = CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
    ::_exit(::unshare(::geteuid() == 0 ? kApart : kApart | CLONE_NEWUSER) == 0 ? 0 : 1);
  }
  int status = 1;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace fathom::process

#define FATHOM_NEEDS_NAMESPACES() \
  if (!fathom::process::may_make_namespaces()) GTEST_SKIP() << "no namespaces can be made here"
