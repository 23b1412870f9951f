// Starts a program in isolation: in its own namespaces, behind the filter, with the user and the mounts of
// another process, traced by the calling thread, and stopped right after exec.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::inject {

struct Apart {
  int pid;
  Fd alive;  // shows it that this process is alive: keep it until it has executed the program
};

// A process of the open file `fd`, with the user and mounts of process `like` (0: ours). It is killed when
// the calling thread ends, and the caller has to wait for it.
Result<Apart> start_apart(int fd, int like);

// Why it ended before it reached the program, or was killed: from the status of waitpid().
std::string why_apart_ended(int status);

}  // namespace fathom::inject
