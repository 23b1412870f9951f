// Where a thread of the target finds its own number without a system call: in its control block, where
// the thread pointer points.
#pragma once

#include <cstdint>
#include <optional>

#include "attach/inject/stop/remote_memory.h"
#include "attach/inject/stop/thread_stop.h"

namespace fathom::inject {

// The offset of the u32 thread id from the thread pointer; 0: not found. Known offsets are believed if they hold the id
// of `thread`, others only if no other word nearby does and the thread is not the first one, whose id is the
// process's too.
std::uint32_t find_tid_offset(int pid, const StoppedThread& thread, const RemoteMemory& memory);

// As the thread knows itself, in the innermost pid namespace.
std::optional<std::int32_t> own_tid(int pid, int tid);

}  // namespace fathom::inject
