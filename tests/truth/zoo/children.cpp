// Threads and processes that live for a few milliseconds.
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "zoo.h"

extern char** environ;

ZOO_FUNCTION void zoo_short_thread() {
  zoo_burn(3'000'000);
}
ZOO_FUNCTION void zoo_forked_child() {
  zoo_burn(8'000'000);
}
ZOO_FUNCTION void zoo_executed_child() {
  zoo_burn(20'000'000);
}

namespace zoo {

void scene_threads(Deadline deadline) {
  while (!passed(deadline)) {
    std::thread thread([] {
      pthread_setname_np(pthread_self(), "zoo-short");
      zoo_short_thread();
    });
    thread.join();
  }
}

void scene_fork(Deadline deadline) {
  while (!passed(deadline)) {
    const pid_t child = fork();
    if (child == 0) {
      zoo_forked_child();
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
}

void scene_exec(Deadline deadline) {
  while (!passed(deadline)) {
    const char* arguments[] = {"stacks_zoo", "--child", nullptr};
    pid_t child = 0;
    if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, const_cast<char**>(arguments), environ) ==
        0) {
      waitpid(child, nullptr, 0);
    }
  }
}

int child_main() {
  zoo_executed_child();
  return 0;
}

}  // namespace zoo
