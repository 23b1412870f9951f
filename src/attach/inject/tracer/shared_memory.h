// The memory that the tracer and the profiler share: a memfd that the target makes and that we make safe to
// map. The profiler is often root and the target is not, so the file behind it is checked before it is
// changed.
#pragma once

#include "base/mapping.h"
#include "base/result.h"

namespace fathom::inject {

// Descriptor `fd` of process `pid`, which a borrowed thread has just been given by memfd_create with
// MFD_ALLOW_SEALING, made `bytes` long and mapped here. The target's other threads run meanwhile and may put
// another file in its place: anything but an empty memfd of ordinary pages is refused, and is not touched.
//
// Its size is sealed. A target that cut it short would end us with SIGBUS at our next access.
Result<Mapping> map_shared(int pid, int fd, std::uint64_t bytes);

}  // namespace fathom::inject
