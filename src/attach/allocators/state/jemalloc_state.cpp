#include "attach/allocators/state/jemalloc_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "attach/allocators/state/jemalloc_tree.h"

namespace fathom::allocators {
namespace {

using jemalloc::Extent;
using jemalloc::ExtentState;

constexpr std::size_t kMostRanges = std::size_t{1} << 21;  // 48 MiB

HeldKind kind_of(ExtentState state) {
  switch (state) {
    case ExtentState::kDirty:
      return HeldKind::kDirty;
    case ExtentState::kMuzzy:
      return HeldKind::kMuzzy;
    case ExtentState::kRetained:
      return HeldKind::kRetained;
    case ExtentState::kActive:
    case ExtentState::kInTransition:
      break;
  }
  return HeldKind::kLive;
}

class JemallocSums {
 public:
  JemallocSums(const AddressRanges& present, AllocatorState& state) : present_(present), state_(state) {}

  void add(const Extent& extent) {
    const std::uint64_t end = extent.start + extent.size;
    if (extent.of_huge_pages)
      state_.reason = "its huge page allocator (opt.hpa) is in use; free memory there is not counted";
    const std::uint64_t resident = present_.bytes_in(extent.start, end);
    add_range({extent.start, end, kind_of(extent.state)});
    HeldArena& arena = arenas_[extent.arena];
    arena.index = extent.arena;
    if (extent.state != ExtentState::kActive) {
      HeldLine& line = lines_[kind_of(extent.state)];
      line.bytes += extent.size;
      line.resident += resident;
      if (extent.state != ExtentState::kRetained) {
        arena.free += extent.size;
        arena.held += extent.size;
      }
      return;
    }
    arena.live += extent.usable;
    arena.held += extent.size;
    HeldLine& live = lines_[HeldKind::kLive];
    HeldLine& rest = lines_[extent.slab ? HeldKind::kFreeInSlabs : HeldKind::kPadding];
    // The program's part of a large block comes first; blocks of a slab are anywhere in it.
    const std::uint64_t of_live =
        extent.slab
            ? static_cast<std::uint64_t>(static_cast<double>(resident) * static_cast<double>(extent.usable) /
                                         static_cast<double>(extent.size))
            : present_.bytes_in(extent.start, extent.start + std::min(extent.usable, extent.size));
    live.bytes += extent.usable;
    live.resident += of_live;
    rest.bytes += extent.size - std::min(extent.usable, extent.size);
    rest.resident += resident - of_live;
    if (!extent.slab) return;
    live.resident_is_shared_out = rest.resident_is_shared_out = true;
    arena.free += extent.size - extent.usable;
    HeldClass& use = classes_[extent.size_class];
    use.size = jemalloc::class_size(extent.size_class);
    use.slabs += 1;
    use.slab_bytes += extent.size;
    use.blocks += extent.blocks;
    use.used += extent.blocks - extent.free;
  }

  void add_metadata(const jemalloc::MetadataBlocks& metadata) {
    HeldLine& line = lines_[HeldKind::kMetadata];
    for (const auto& [address, block] : metadata.blocks()) {
      line.bytes += block.used;
      line.resident += present_.bytes_in(address, address + block.size);
      metadata_.push_back({address, address + block.size, HeldKind::kMetadata});
    }
  }

  // False: the memory it claims to allocate is where it claims to have its records.
  bool finish() {
    for (auto& [kind, line] : lines_) {
      line.kind = kind;
      state_.lines.push_back(line);
      if (kind == HeldKind::kFreeInSlabs || kind == HeldKind::kPadding)
        state_.free_in_live_pages += line.resident;
    }
    for (const auto& entry : arenas_) state_.arenas.push_back(entry.second);
    for (const auto& entry : classes_) state_.classes.push_back(entry.second);
    state_.ranges.reserve(ranges_.size() + metadata_.size());
    std::merge(ranges_.begin(), ranges_.end(), metadata_.begin(), metadata_.end(),
               std::back_inserter(state_.ranges),
               [](const HeldRange& a, const HeldRange& b) { return a.start < b.start; });
    for (std::size_t i = 1; i < state_.ranges.size(); ++i)
      if (state_.ranges[i].start < state_.ranges[i - 1].end) return false;
    return true;
  }

 private:
  void add_range(const HeldRange& range) {
    if (!ranges_.empty() && ranges_.back().end == range.start && ranges_.back().kind == range.kind)
      ranges_.back().end = range.end;
    else if (ranges_.size() < kMostRanges)
      ranges_.push_back(range);
    else
      state_.ranges_complete = false;
  }

  const AddressRanges& present_;
  AllocatorState& state_;
  std::map<HeldKind, HeldLine> lines_;
  std::map<std::uint32_t, HeldArena> arenas_;
  std::map<std::uint32_t, HeldClass> classes_;
  std::vector<HeldRange> ranges_, metadata_;
};

}  // namespace

std::vector<AllocatorState> read_jemalloc(PresentMemory& memory, const ProcessMap& map) {
  std::vector<AllocatorState> states;
  for (const jemalloc::Root& root : jemalloc::find_roots(memory, map)) {
    AllocatorState state;
    state.name = "jemalloc";
    state.module = root.module;
    JemallocSums sums(memory.present(), state);
    jemalloc::MetadataBlocks metadata(memory, map);
    const auto walked =
        jemalloc::walk(memory, map, root, metadata, [&](const Extent& extent) { sums.add(extent); });
    if (!walked.is_tree) continue;  // a false candidate
    const auto unknown = [&](std::string why) {
      AllocatorState none;
      none.name = state.name;
      none.module = state.module;
      none.reason = std::move(why);
      states.push_back(std::move(none));
    };
    if (memory.used_up()) {
      unknown(std::string(kTooMuch));
      continue;
    }
    if (walked.cut) {
      unknown("it has more extents than are read");
      continue;
    }
    if (walked.layout == nullptr) {
      unknown("the records of its page tree agree with no version that is known (5.0 to 5.3)");
      continue;
    }
    // A busy process changes a few records during the reading; a wrong layout makes most of them wrong.
    if (walked.extents == 0 || walked.moved * 20 > walked.extents + 100) {
      unknown(fmt::format("{} of {} records do not agree with the rest, the first at {:#x}", walked.moved,
                          walked.moved + walked.extents, walked.first_bad));
      continue;
    }
    sums.add_metadata(metadata);
    if (!sums.finish()) {
      unknown("what it hands out lies over its own records");
      continue;
    }
    state.layout = walked.layout->versions;
    state.certainty = walked.moved == 0 ? Certainty::kVerified : Certainty::kMoved;
    state.records = walked.extents;
    state.moved = walked.moved;
    state.moved_bytes = walked.moved_bytes;
    state.returnable = state.resident(HeldKind::kDirty) + state.resident(HeldKind::kMuzzy);
    states.push_back(std::move(state));
  }
  return states;
}

}  // namespace fathom::allocators
