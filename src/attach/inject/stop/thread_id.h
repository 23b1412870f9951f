// Where a thread of the target finds its own id without a system call: in its control block, at an offset
// from the thread pointer.
#pragma once

#include <cstdint>
#include <optional>

#include "attach/inject/stop/remote_memory.h"
#include "attach/inject/stop/thread_stop.h"

namespace fathom::inject {

// The offset of the u32 thread id from the thread pointer; 0: not found. A known offset is used if it holds
// the id of `thread`; another one only if no other word nearby holds it and the thread is not the first one,
// whose id is also the pid.
std::uint32_t find_tid_offset(int pid, const StoppedThread& thread, const RemoteMemory& memory);

// The id that the thread itself sees, in the innermost pid namespace.
std::optional<std::int32_t> own_tid(int pid, int tid);

}  // namespace fathom::inject
