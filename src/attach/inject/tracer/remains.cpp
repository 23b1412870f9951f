#include "attach/inject/tracer/remains.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "attach/inject/tracer/shared_view.h"
#include "linux/process/directory.h"
#include "linux/process/maps.h"
#include "linux/process/status.h"

namespace fathom::inject {
namespace {

struct Difference {
  std::uint64_t bytes = 0;
  bool foreign = false;  // a byte is neither the old one nor ours
};

Difference compare(const RemoteMemory& memory, const tracer_journal_entry& entry) {
  std::array<std::byte, sizeof(entry.before)> now{};
  const std::span<std::byte> bytes(now.data(), std::min<std::size_t>(entry.length, now.size()));
  Difference difference;
  if (!memory.read({entry.address}, bytes)) return difference;  // its module was unloaded
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto value = std::to_integer<u8>(bytes[i]);
    if (value == entry.before[i]) continue;
    ++difference.bytes;
    difference.foreign = difference.foreign || value != entry.after[i];
  }
  return difference;
}

bool is_own(const process::MapEntry& entry, std::span<const tracer_own_mapping> own) {
  if (!entry.path.empty() && entry.path != kSharedPath) return false;
  return std::any_of(own.begin(), own.end(), [&](const tracer_own_mapping& mapping) {
    return entry.start.value < mapping.address + mapping.bytes && mapping.address < entry.end.value;
  });
}

Remains::Reason reason_of(const Remains& remains, bool foreign, const Obstacle& obstacle) {
  if (remains.nothing()) return Remains::Reason::kNone;
  switch (obstacle.kind) {
    case Obstacle::Kind::kDebugger:
      return Remains::Reason::kDebugger;
    case Obstacle::Kind::kFrozen:
      return Remains::Reason::kFrozen;
    case Obstacle::Kind::kNone:
      break;
  }
  if (foreign) return Remains::Reason::kChanged;
  return remains.places == 0 && remains.mapped_bytes != 0 ? Remains::Reason::kThreadInside
                                                          : Remains::Reason::kOther;
}

}  // namespace

Remains find_remains(const Target& target, std::span<const tracer_journal_entry> journal,
                     std::span<const tracer_own_mapping> own) {
  Remains remains;
  const auto maps = process::read_maps(target.pid);
  if (!maps || maps->empty() || program_of(target.pid) != target.program) return remains;
  bool foreign = false;
  for (std::size_t i = 0; i < journal.size(); ++i) {
    const tracer_journal_entry& entry = journal[i];
    // If a place was changed several times the last change counts: the library there was loaded again.
    if (std::any_of(journal.begin() + static_cast<std::ptrdiff_t>(i) + 1, journal.end(),
                    [&](const tracer_journal_entry& later) { return later.address == entry.address; }))
      continue;
    const Difference difference = compare(target.memory, entry);
    // Restored, and changed by other programs since: not ours.
    if (difference.bytes == 0 || (difference.foreign && entry.in == 0)) continue;
    ++remains.places;
    remains.bytes += difference.bytes;
    foreign = foreign || difference.foreign;
  }
  for (const process::MapEntry& entry : *maps)
    if (is_own(entry, own)) remains.mapped_bytes += entry.size();
  remains.descriptors = static_cast<std::uint32_t>(shared_descriptors(target.pid).size());
  remains.masks = target.stops.masks_lost;
  if (const auto status = process::read_status(target.pid))
    remains.seccomp = status->seccomp != target.seccomp && status->seccomp == 0;
  const Obstacle obstacle = remains.nothing() ? Obstacle{} : obstacle_of_threads(target.pid);
  remains.reason = reason_of(remains, foreign, obstacle);
  remains.by = remains.reason == Remains::Reason::kDebugger ? obstacle.by : 0;
  return remains;
}

bool has_remains(int pid) {
  const auto maps = process::read_maps(pid);
  return (maps && !find_shared(*maps).empty()) || !shared_descriptors(pid).empty();
}

std::vector<int> shared_descriptors(int pid) {
  std::vector<int> found;
  const std::string folder = fmt::format("/proc/{}/fd", pid);
  const auto fds = process::numbers_in(folder);
  if (!fds) return found;
  for (const int fd : *fds) {
    const auto link = process::read_link(fmt::format("{}/{}", folder, fd));
    if (link && link->starts_with(kSharedPath)) found.push_back(fd);
  }
  return found;
}

}  // namespace fathom::inject
