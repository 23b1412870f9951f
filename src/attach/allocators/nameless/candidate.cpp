#include "attach/allocators/nameless/candidate.h"

namespace fathom::allocators::nameless {

std::string_view name_of(Role role) {
  switch (role) {
    case Role::kMalloc:
      return "malloc";
    case Role::kCalloc:
      return "calloc";
    case Role::kRealloc:
      return "realloc";
    case Role::kMallocx:
      return "mallocx";
    case Role::kRallocx:
      return "rallocx";
    case Role::kSdallocx:
      return "sdallocx";
    case Role::kFree:
      return "free";
    case Role::kPosixMemalign:
      return "posix_memalign";
    case Role::kAlignedAlloc:
      return "aligned_alloc";
    case Role::kNew:
      return "operator new";
    case Role::kValloc:
      return "valloc";
    case Role::kXallocx:
      return "xallocx";
    case Role::kMallocAligned:
      return "malloc_aligned";
    case Role::kZalloc:
      return "zalloc";
    case Role::kZallocAligned:
      return "zalloc_aligned";
    case Role::kMallocn:
      return "mallocn";
    case Role::kReallocAligned:
      return "realloc_aligned";
    case Role::kReallocarray:
      return "reallocarray";
    case Role::kNewAligned:
      return "operator new (aligned)";
    case Role::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace fathom::allocators::nameless
