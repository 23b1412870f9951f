#include "attach/inject/tracer/forked_copy.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "attach/inject/stop/target.h"
#include "attach/inject/tracer/unmapping.h"
#include "linux/process/maps.h"

namespace fathom::inject {
namespace {

// The bytes of the mappings that the process has at the places of its parent's.
std::uint64_t copied_bytes(std::span<const process::MapEntry> maps, std::span<const tracer_own_mapping> own) {
  std::uint64_t bytes = 0;
  for (const process::MapEntry& entry : maps)
    for (const tracer_own_mapping& mapping : own)
      if (entry.path.empty() && entry.start.value == mapping.address && entry.size() == mapping.bytes)
        bytes += entry.size();
  return bytes;
}

bool has_image(const RemoteMemory& memory, ProcessAddress image) {
  const auto header = memory.get<tracer_image_header>(image);
  return header && header->magic == TRACER_MAGIC && header->version == TRACER_VERSION;
}

// As if all changes were still in: those of the parent are marked as restored. Where a library was loaded again, only the last
// change counts.
std::vector<tracer_journal_entry> changes_of(std::span<const tracer_journal_entry> journal) {
  std::vector<tracer_journal_entry> changes;
  for (const tracer_journal_entry& entry : journal) {
    std::erase_if(changes,
                  [&](const tracer_journal_entry& earlier) { return earlier.address == entry.address; });
    changes.push_back(entry);
    changes.back().in = 1;
  }
  return changes;
}

}  // namespace

std::optional<Remains> restore_forked(int pid, const ParentsTracer& parent,
                                      const unwind::AddressSpace* space) {
  const auto maps = process::read_maps(pid);
  const auto memory = RemoteMemory::open(pid);
  if (!maps || !memory || copied_bytes(*maps, parent.own) == 0 || !has_image(*memory, parent.image))
    return std::nullopt;
  Remains unknown;
  unknown.reason = Remains::Reason::kOther;
  unknown.mapped_bytes = copied_bytes(*maps, parent.own);
  const Obstacle obstacle = obstacle_of_threads(pid);
  if (obstacle.kind != Obstacle::Kind::kNone) return unknown;
  auto target = Target::open(pid);
  if (!target) return unknown;
  std::vector<tracer_journal_entry> changes = changes_of(parent.journal);
  // What another program changed since may still lead into the copy.
  const auto taken = take_back(*target, changes, parent.ways_back);
  if (taken && taken->foreign.empty()) (void)unmap_own(*target, parent.own, parent.entered, space);
  return find_remains(*target, changes, parent.own);
}

}  // namespace fathom::inject
