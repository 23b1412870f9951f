// The privileges that the process that reads the target's files drops before it reads the first byte. An
// attacker who exploits a parser gets a process that owns nothing, may open nothing and may start nothing: it
// can answer its parent wrongly, and end. Source: seccomp(2), capabilities(7), setrlimit(2). Private to this
// folder.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace fathom::symbolize {

struct Confinement {
  // Root becomes this user and group, without supplementary groups; others stay who they are.
  uid_t user = 65534;
  gid_t group = 65534;
  std::uint64_t memory_bytes = std::uint64_t{2} << 30;  // of its own; mapped files do not count
};

// For the whole life of the calling process, which has one thread. Skips what the kernel refuses: weaker
// confinement is better than no names. Reports an error if the caller was root and could not become `user`.
bool confine_process(const Confinement& confinement);

// A file that a library wants to open, by its path as the library has it. A descriptor, or -1 with errno set.
using OpenFile = int (*)(const char* path);
// The path behind an open file of this process: libdw asks for the folder that a file lies in. Null: not
// known.
using PathOf = const char* (*)();

// From here on, the kernel runs a short list of system calls for this process: reading what is open, memory,
// time, and the end. Opening a file for reading comes to `open_file` instead of the kernel, and every other
// call is refused as EPERM. Both functions run in a signal handler, at a place where a system call would be
// made. False: the kernel has no seccomp.
bool filter_system_calls(OpenFile open_file, PathOf path_of);

}  // namespace fathom::symbolize
