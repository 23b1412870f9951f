#include "attach/allocators/nameless/code_map.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/arch/branches.h"
#include "binary/unwind/table.h"

namespace fathom::allocators::nameless {
namespace {

constexpr std::uint64_t kPage = 4096;
// Allocators have no larger functions; a hostile file may claim some.
constexpr std::uint64_t kLargestFunction = 64 << 10;

// The bounds within which the allocator's quick path serves a request: 4096, as "above" or "not below".
constexpr std::array<std::uint32_t, 2> kBounds = {0x1000, 0x1001};

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

void sort_once(std::vector<FunctionNumber>& all) {
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

// A set that says no quickly.
class Wanted {
 public:
  explicit Wanted(std::span<const std::uint64_t> all) : all_(all) {
    for (const std::uint64_t each : all) filter_[each % kBits / 64] |= std::uint64_t{1} << each % 64;
  }
  std::uint64_t first() const { return all_.front(); }
  std::uint64_t reach() const { return all_.back() - all_.front(); }
  bool has(std::uint64_t address) const {
    return (filter_[address % kBits / 64] >> address % 64 & 1) != 0 &&
           std::binary_search(all_.begin(), all_.end(), address);
  }

 private:
  static constexpr std::uint64_t kBits = 1 << 16;
  std::span<const std::uint64_t> all_;
  std::array<std::uint64_t, kBits / 64> filter_{};
};

}  // namespace

CodeMap::CodeMap(const elf::ElfFile& file) : file_(file) {
  std::uint64_t first = UINT64_MAX, end = 0;
  for (const elf::Segment& segment : file.segments()) {
    if (segment.type != PT_LOAD) continue;
    first = std::min(first, segment.address.value);
    end = std::max(end, segment.address.value + segment.memory_size);
  }
  if (file.type() == ET_EXEC && first < end) image_ = {first, end};
  std::uint64_t behind = 0;  // functions of a broken file may lie over each other
  for (const auto& [start, size] : unwind::function_bounds(file)) {
    if (start.value < behind || file.bytes_from(start).size() < size) continue;
    starts_.push_back(start.value);
    sizes_.push_back(size);
    behind = start.value + size;
  }
  if (starts_.empty()) return;
  first_ = starts_.front();
  // The span of code is bounded where the bounds are read (binary/unwind/frame_sections.cpp).
  pages_.resize((behind - first_) / kPage + 2);
  FunctionNumber function = 0;
  for (std::size_t page = 0; page < pages_.size(); ++page) {
    while (function < starts_.size() && starts_[function] < first_ + page * kPage) ++function;
    pages_[page] = function;
  }
}

FunctionNumber CodeMap::holding(std::uint64_t address) const {
  if (starts_.empty() || address < first_) return kNoFunction;
  const std::uint64_t page = (address - first_) / kPage;
  if (page + 1 >= pages_.size()) return kNoFunction;
  const auto from = starts_.begin() + pages_[page], to = starts_.begin() + pages_[page + 1];
  const auto behind = std::upper_bound(from, to, address);
  if (behind == starts_.begin()) return kNoFunction;
  const auto function = static_cast<FunctionNumber>(behind - starts_.begin() - 1);
  return address - starts_[function] < sizes_[function] ? function : kNoFunction;
}

FunctionNumber CodeMap::starting_at(std::uint64_t address) const {
  const FunctionNumber function = holding(address);
  return function != kNoFunction && starts_[function] == address ? function : kNoFunction;
}

std::span<const std::byte> CodeMap::code(FunctionNumber function) const {
  return file_.bytes_from({starts_[function]}).first(static_cast<std::size_t>(sizes_[function]));
}

std::optional<arch::FunctionFacts> CodeMap::facts(FunctionNumber function) const {
  if (sizes_[function] > kLargestFunction) return std::nullopt;
  return arch::function_facts(code(function), starts_[function], image_, kBounds);
}

bool CodeMap::may_branch(std::uint64_t at, std::uint64_t target) const {
  const FunctionNumber function = holding(at);
  if (function == kNoFunction) return true;
  const auto all = facts(function);
  return !all || std::ranges::binary_search(all->calls, target) ||
         std::ranges::binary_search(all->jumps, target);
}

template <class Visit>
void CodeMap::for_each_code(const Visit& visit) const {
  for (const elf::Segment& segment : file_.segments())
    if (segment.type == PT_LOAD && (segment.flags & PF_X) != 0)
      if (const auto bytes = file_.bytes_from(segment.address); bytes.size() >= 4)
        visit(bytes, segment.address.value);
}

std::vector<CodeMap::Naming> CodeMap::namings(std::span<const std::uint64_t> addresses) const {
  std::vector<Naming> found;
  if (addresses.empty()) return found;
  const Wanted wanted(addresses);
  const std::uint64_t first = wanted.first(), reach = wanted.reach();
  const bool fixed = image_.end != 0;
  for_each_code([&](std::span<const std::byte> bytes, std::uint64_t start) {
    const std::uint64_t near_first = first - arch::kReferenceReach,
                        near_reach = reach + arch::kReferenceReach;
    arch::for_each_reference(
        bytes, start, [=](std::uint64_t address) { return address - near_first <= near_reach; },
        [&](const arch::Reference& reference) {
          if (wanted.has(reference.target))
            found.push_back({reference.target, holding(reference.at), reference.through_word});
        });
    if (!fixed) return;
    for (std::size_t i = 0; i + 4 <= bytes.size(); ++i) {
      const std::uint64_t value = load<std::uint32_t>(bytes.data() + i);
      if (value - first > reach) [[likely]]
        continue;
      if (wanted.has(value)) found.push_back({value, holding(start + i), false});
    }
  });
  return found;
}

std::vector<FunctionNumber> CodeMap::holding_constant(std::span<const std::uint32_t> constants) const {
  std::vector<FunctionNumber> found;
  if (constants.empty()) return found;
  const std::uint32_t least = std::ranges::min(constants), most = std::ranges::max(constants);
  for_each_code([&](std::span<const std::byte> bytes, std::uint64_t start) {
    for (std::size_t i = 0; i + 4 <= bytes.size(); ++i) {
      const auto value = load<std::uint32_t>(bytes.data() + i);
      if (value - least > most - least || std::ranges::find(constants, value) == constants.end()) [[likely]]
        continue;
      const FunctionNumber function = holding(start + i);
      if (function != kNoFunction && (found.empty() || found.back() != function)) found.push_back(function);
    }
  });
  sort_once(found);
  return found;
}

std::vector<CodeMap::Edge> CodeMap::edges_into(const std::vector<bool>& wanted) const {
  std::vector<std::uint64_t> addresses;
  for (FunctionNumber function = 0; function < starts_.size(); ++function)
    if (wanted[function]) addresses.push_back(starts_[function]);
  std::vector<Edge> edges;
  if (addresses.empty()) return edges;
  const std::uint64_t first = addresses.front(), reach = addresses.back() - first;
  for_each_code([&](std::span<const std::byte> bytes, std::uint64_t start) {
    const std::uint64_t near_first = first - arch::kReferenceReach,
                        near_reach = reach + arch::kReferenceReach;
    arch::for_each_reference(
        bytes, start, [=](std::uint64_t address) { return address - near_first <= near_reach; },
        [&](const arch::Reference& reference) {
          if (reference.through_word) return;
          const FunctionNumber callee = starting_at(reference.target);
          if (callee == kNoFunction || !wanted[callee]) return;
          const FunctionNumber caller = holding(reference.at);
          if (caller != callee) edges.push_back({callee, caller});
        });
  });
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

std::vector<FilledWord> CodeMap::fixed_words_holding(std::span<const ElfAddress> addresses) const {
  std::vector<FilledWord> found;
  if (image_.end == 0 || addresses.empty()) return found;
  const std::uint64_t first = addresses.front().value, reach = addresses.back().value - first;
  for (const elf::Segment& segment : file_.segments()) {
    if (segment.type != PT_LOAD) continue;  // constants may share a segment with code
    const auto bytes = file_.bytes_from(segment.address);
    // Words are where compilers put them: at whole multiples of 8.
    for (std::size_t i = (8 - segment.address.value % 8) % 8; i + 8 <= bytes.size(); i += 8) {
      const auto value = load<std::uint64_t>(bytes.data() + i);
      if (value - first > reach) [[likely]]
        continue;
      if (std::ranges::binary_search(addresses, ElfAddress{value}))
        found.push_back({{segment.address.value + i}, {value}});
    }
  }
  return found;
}

bool CodeMap::is_writable(std::uint64_t address) const {
  bool writable = false;
  for (const elf::Segment& segment : file_.segments()) {
    if (address < segment.address.value || address - segment.address.value >= segment.memory_size) continue;
    if (segment.type == PT_GNU_RELRO) return false;
    if (segment.type == PT_LOAD) writable |= (segment.flags & PF_W) != 0;
  }
  return writable;
}

}  // namespace fathom::allocators::nameless
