// The memory shared by tracer and profiler: a memfd that the target creates and fathom makes safe to map. The
// profiler is often root and the target is not, so the file behind it is checked before it is changed.
#pragma once

#include <cstdint>

#include "base/fd.h"
#include "base/mapping.h"
#include "base/result.h"

namespace fathom::inject {

// Takes descriptor `fd` of process `pid`, which a borrowed thread has just created by memfd_create with
// MFD_ALLOW_SEALING, makes it `bytes` long and maps it here. The target's other threads run in the meantime
// and may replace it by another file: anything but an empty memfd of ordinary pages is rejected and not
// changed.
//
// The size is sealed. A target that truncated it would kill the profiler with SIGBUS at its next access.
struct SharedMemory {
  Mapping mapping;
  // A descriptor of ours with a lock (flock(2)). As long as it is open the kernel names this process as the one that locks this memory:
  // so others see who holds the tracer, whatever the target writes into it. -1 where the kernel refuses.
  Fd held;
};
Result<SharedMemory> map_shared(int pid, int fd, std::uint64_t bytes);

}  // namespace fathom::inject
