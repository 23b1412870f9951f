// A program started apart from everybody: in namespaces of its own, behind the filter, with the user and the mounts of
// another process, traced by the calling thread, and stopped behind exec.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::inject {

struct Apart {
  int pid;
  Fd alive;  // says to it that we live: to be kept until it has executed the program
};

// The process of the file that `fd` is open for, as `like` is (0: as we are). It is killed when the calling thread ends,
// and whoever gets it waits for it.
Result<Apart> start_apart(int fd, int like);

// Of one that did not come as far as the program, or was killed: why, by what waitpid() says.
std::string why_apart_ended(int status);

}  // namespace fathom::inject
