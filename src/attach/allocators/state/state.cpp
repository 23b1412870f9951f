#include "attach/allocators/state/state.h"

namespace fathom::allocators {

std::string_view to_string(HeldKind kind) {
  switch (kind) {
    case HeldKind::kLive:
      return "live";
    case HeldKind::kFreeInSlabs:
      return "free_in_slabs";
    case HeldKind::kPadding:
      return "padding";
    case HeldKind::kDirty:
      return "dirty";
    case HeldKind::kMuzzy:
      return "muzzy";
    case HeldKind::kRetained:
      return "retained";
    case HeldKind::kMetadata:
      return "metadata";
    case HeldKind::kBins:
      return "bins";
    case HeldKind::kFastBins:
      return "fast_bins";
    case HeldKind::kThreadCache:
      return "thread_caches";
    case HeldKind::kTop:
      return "top";
    case HeldKind::kMapped:
      return "mapped";
  }
  return "live";
}

const HeldLine* AllocatorState::line(HeldKind kind) const {
  for (const HeldLine& each : lines)
    if (each.kind == kind) return &each;
  return nullptr;
}

std::uint64_t AllocatorState::bytes(HeldKind kind) const {
  const HeldLine* found = line(kind);
  return found == nullptr ? 0 : found->bytes;
}

std::uint64_t AllocatorState::resident(HeldKind kind) const {
  const HeldLine* found = line(kind);
  return found == nullptr ? 0 : found->resident;
}

}  // namespace fathom::allocators
