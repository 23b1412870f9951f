// What the kernel lets a private copy of a program do: be loaded, get memory, and end. Source: seccomp(2).
#pragma once

namespace fathom::inject {

// For the calling process from here on, after `no_new_privs`. Makes system calls only, and no memory, so it may be called
// between fork and exec. False: the kernel has no seccomp.
bool filter_private_copy();

}  // namespace fathom::inject
