#include "attach/inject/tracer/own_places.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/arch/common/entry_plan.h"

namespace fathom::inject {
namespace {

// An island for the maximum number of hooks takes 40 KiB.
constexpr std::uint64_t kLargestIsland = 1 << 20;

bool contains(const AddressRange& range, std::uint64_t address) {
  return address >= range.start.value && address < range.end.value;
}
AddressRange range_of(const process::MapEntry& entry) {
  return {entry.start, entry.end};
}
bool is_anonymous(const process::MapEntry& entry) {
  return entry.path.empty() && entry.inode == 0 && !entry.shared;
}
bool may_be_code(const process::MapEntry& entry) {
  return is_anonymous(entry) && entry.executable && entry.readable;
}

bool begins_with_mark(const RemoteMemory& memory, const process::MapEntry& entry) {
  const auto mark = memory.get<std::uint64_t>(entry.start);
  return mark && *mark == TRACER_MAGIC;
}

enum class Content : std::uint8_t { kZeros, kJumpsIntoImage, kOther };

Content look(const RemoteMemory& memory, const process::MapEntry& entry, const AddressRange& image) {
  if (entry.size() > kLargestIsland) return Content::kOther;
  std::vector<std::byte> bytes(entry.size());
  if (!memory.read(entry.start, bytes)) return Content::kOther;
  for (std::size_t at = 0; at + arch::kStubRoom <= bytes.size(); at += arch::kStubRoom) {
    const auto to = arch::far_jump_target(std::span(bytes).subspan(at, arch::kStubRoom));
    if (to && contains(image, *to)) return Content::kJumpsIntoImage;
  }
  const bool zeros =
      std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{}; });
  return zeros ? Content::kZeros : Content::kOther;
}

}  // namespace

bool OwnPlaces::in_image(std::uint64_t address) const {
  return image && contains(*image, address);
}
bool OwnPlaces::in_islands(std::uint64_t address) const {
  return std::any_of(islands.begin(), islands.end(),
                     [&](const AddressRange& island) { return contains(island, address); });
}

OwnPlaces find_own_places(const RemoteMemory& memory, std::span<const process::MapEntry> maps,
                          const process::MapEntry& shared, std::span<const tracer_own_mapping> claimed) {
  const auto find = [&](const auto& holds) { return std::find_if(maps.begin(), maps.end(), holds); };
  const auto state = find([&](const process::MapEntry& entry) {
    return is_anonymous(entry) && entry.end.value + kApart == shared.start.value;
  });
  const auto ends_at_state = [&](const process::MapEntry& entry) {
    return state != maps.end() && is_anonymous(entry) && entry.end.value + kApart == state->start.value;
  };
  auto image = find(ends_at_state);
  if (image == maps.end())
    image = find([&](const process::MapEntry& entry) {
      return may_be_code(entry) && begins_with_mark(memory, entry);
    });

  OwnPlaces places;
  const auto add = [&](const process::MapEntry& entry) {
    places.all.push_back({entry.start.value, entry.size()});
  };
  if (image != maps.end()) {
    places.image = range_of(*image);
    add(*image);
  }
  if (state != maps.end()) add(*state);
  for (auto entry = maps.begin(); places.image && entry != maps.end(); ++entry) {
    if (entry == image || !may_be_code(*entry)) continue;
    const bool is_claimed = std::any_of(claimed.begin(), claimed.end(), [&](const tracer_own_mapping& own) {
      return own.address == entry->start.value && own.bytes == entry->size();
    });
    const Content content = look(memory, *entry, *places.image);
    if (content == Content::kOther || (content == Content::kZeros && !is_claimed)) continue;
    places.islands.push_back(range_of(*entry));
    add(*entry);
  }
  add(shared);
  return places;
}

}  // namespace fathom::inject
