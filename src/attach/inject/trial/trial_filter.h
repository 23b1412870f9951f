// The system calls that a private copy of a program may make: to be loaded, get memory, and exit. Source:
// seccomp(2).
#pragma once

namespace fathom::inject {

// For the calling process from now on, after `no_new_privs`. Makes system calls only and allocates no memory,
// so it may be called between fork and exec. False: the kernel has no seccomp.
bool filter_private_copy();

}  // namespace fathom::inject
