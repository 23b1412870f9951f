#include "attach/allocators/state/held_words.h"

namespace fathom::allocators {

std::string_view words_of(HeldKind kind) {
  switch (kind) {
    case HeldKind::kLive:
      return "live blocks";
    case HeldKind::kFreeInSlabs:
      return "free among live blocks";
    case HeldKind::kPadding:
      return "padding of large blocks";
    case HeldKind::kDirty:
      return "free, not given back (dirty)";
    case HeldKind::kMuzzy:
      return "free, the kernel may take it (muzzy)";
    case HeldKind::kRetained:
      return "address space that is kept (retained)";
    case HeldKind::kMetadata:
      return "its own records";
    case HeldKind::kBins:
      return "free chunks";
    case HeldKind::kFastBins:
      return "free chunks in fast bins";
    case HeldKind::kThreadCache:
      return "free chunks in caches of threads";
    case HeldKind::kTop:
      return "free ends of heaps";
    case HeldKind::kMapped:
      return "live blocks with a mapping of their own";
  }
  return "";
}

HeldKind kind_of_range(HeldKind kind) {
  switch (kind) {
    case HeldKind::kPadding:
      return HeldKind::kFreeInSlabs;
    case HeldKind::kFastBins:
    case HeldKind::kThreadCache:
      return HeldKind::kLive;
    default:
      return kind;
  }
}

}  // namespace fathom::allocators
