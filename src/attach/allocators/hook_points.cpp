// The pass looks at all code for whatever names a function or a word that holds one: nothing is decoded, so nothing is
// missed where a decoder would lose its step (base/arch/branches.h).
#include "attach/allocators/hook_points.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "attach/allocators/relocations.h"
#include "base/arch/branches.h"

namespace fathom::allocators {
namespace {

// The addresses that references are looked for, with a quick way to say no.
class Targets {
 public:
  explicit Targets(std::vector<ElfAddress> sorted) : all_(std::move(sorted)) {
    if (all_.empty()) return;
    first_ = all_.front().value;
    reach_ = all_.back().value - first_;
    for (const ElfAddress each : all_)
      filter_[bit(each.value) / 64] |= std::uint64_t{1} << bit(each.value) % 64;
  }
  bool empty() const { return all_.empty(); }
  std::uint64_t first() const { return first_; }
  std::uint64_t reach() const { return reach_; }  // last - first
  // The position in the list; the list's size if it is not there.
  std::size_t find(std::uint64_t address) const {
    if (address - first_ > reach_ || (filter_[bit(address) / 64] >> bit(address) % 64 & 1) == 0)
      return all_.size();
    const auto at = std::lower_bound(all_.begin(), all_.end(), ElfAddress{address});
    return at != all_.end() && at->value == address ? static_cast<std::size_t>(at - all_.begin())
                                                    : all_.size();
  }
  // The last one at or before the address and less than `reach` away; the list's size if there is none.
  std::size_t find_before(std::uint64_t address, std::uint64_t reach) const {
    const auto behind = std::upper_bound(all_.begin(), all_.end(), ElfAddress{address});
    if (behind == all_.begin() || address - std::prev(behind)->value >= reach) return all_.size();
    return static_cast<std::size_t>(behind - all_.begin()) - 1;
  }
  std::size_t size() const { return all_.size(); }
  std::uint64_t address(std::size_t i) const { return all_[i].value; }

 private:
  static std::size_t bit(std::uint64_t address) { return address % kBits; }
  static constexpr std::size_t kBits = 1 << 16;
  std::vector<ElfAddress> all_;
  std::uint64_t first_ = 0, reach_ = 0;
  std::array<std::uint64_t, kBits / 64> filter_{};
};

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

class Search {
 public:
  Search(const elf::ElfFile& file, const Allocator& allocator, const BranchCheck& may_branch)
      : file_(file),
        allocator_(allocator),
        may_branch_(may_branch),
        words_(words_holding(file, addresses())),
        functions_(addresses()),
        slots_(slot_addresses()),
        points_(functions_.size()),
        sizes_(functions_.size()),
        is_named_(slots_.size()) {
    for (const Function& each : allocator.functions) sizes_[functions_.find(each.address.value)] = each.size;
  }

  std::vector<HookPoints> run() {
    if (points_.empty()) return {};
    for (const FilledWord& each : words_)
      points_[functions_.find(each.holds.value)].slots.push_back(each.word);
    mark_exported();
    const bool fixed = file_.type() == ET_EXEC;
    for (const elf::Segment& segment : file_.segments()) {
      if (segment.type != PT_LOAD) continue;
      const auto bytes = file_.bytes_from(segment.address);
      if ((segment.flags & PF_X) != 0) search_code(bytes, segment.address.value);
      if (fixed) search_addresses(bytes, segment.address.value, (segment.flags & PF_X) != 0);
    }
    for (std::size_t i = 0; i < words_.size(); ++i)
      if (!is_named_[i]) ++points_[functions_.find(words_[i].holds.value)].table_slots;
    std::vector<HookPoints> in_their_order;
    for (const Function& each : allocator_.functions)
      in_their_order.push_back(points_[functions_.find(each.address.value)]);
    return in_their_order;
  }

 private:
  std::vector<ElfAddress> addresses() const {
    std::vector<ElfAddress> all;
    for (const Function& each : allocator_.functions) all.push_back(each.address);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }
  std::vector<ElfAddress> slot_addresses() const {
    std::vector<ElfAddress> all;
    for (const FilledWord& each : words_) all.push_back(each.word);
    return all;  // ascending, as words_ is
  }

  bool is_own(std::uint64_t address) const {
    const auto behind = std::upper_bound(
        allocator_.own_code.begin(), allocator_.own_code.end(), address,
        [](std::uint64_t wanted, const CodeRange& range) { return wanted < range.start.value; });
    return behind != allocator_.own_code.begin() && address < std::prev(behind)->end.value;
  }

  void consider(const arch::Reference& reference) {
    if (const auto function = functions_.find(reference.target); function < functions_.size()) {
      if (!is_own(reference.at)) ++points_[function].direct_references;
    } else if (const auto slot = slots_.find(reference.target); slot < slots_.size()) {
      is_named_[slot] = true;
      if (is_own(reference.at)) return;
      HookPoints& points = points_[functions_.find(words_[slot].holds.value)];
      ++(reference.through_word ? points.slot_calls : points.slot_loads);
    } else if (reference.branches) {
      consider_inside(reference.at, reference.target);
    }
  }
  // Whether it is a branch into a function's start, from outside: who plans to change the start knows the
  // function's own branches, and no others.
  void consider_inside(std::uint64_t address, std::uint64_t target) {
    const std::size_t function = functions_.find_before(target, arch::kChangedStart);
    if (function == functions_.size()) return;
    const std::uint64_t start = functions_.address(function);
    if (target - start >= sizes_[function]) return;  // a neighbour
    if (address >= start && address - start < sizes_[function]) return;
    const auto offset = static_cast<std::uint8_t>(target - start);
    // Behind a mark for branches the function begins just as well.
    const auto head = file_.bytes_from({start});
    if (offset == arch::landing_pad_bytes(head)) {
      if (!is_own(address)) ++points_[function].direct_references;
      return;
    }
    if (may_branch_ && !may_branch_(address, target)) return;
    auto& all = points_[function].entered_at;
    const auto place = std::lower_bound(all.begin(), all.end(), offset);
    if (place == all.end() || *place != offset) all.insert(place, offset);
  }

  void search_code(std::span<const std::byte> code, std::uint64_t start) {
    const std::uint64_t functions_first = functions_.first() - arch::kReferenceReach,
                        functions_reach = functions_.reach() + arch::kReferenceReach + arch::kChangedStart;
    // Without slots a range that nothing is in: behind the functions' last one nothing is looked for.
    const std::uint64_t slots_first =
                            slots_.empty() ? functions_first : slots_.first() - arch::kReferenceReach,
                        slots_reach =
                            slots_.empty() ? functions_reach : slots_.reach() + arch::kReferenceReach;
    arch::for_each_reference(
        code, start,
        [=](std::uint64_t address) {
          return address - functions_first <= functions_reach || address - slots_first <= slots_reach;
        },
        [&](const arch::Reference& reference) { consider(reference); });
  }

  // In a file that is loaded where it was linked, addresses need no relocation: 32 bits of an instruction, 64
  // bits of data. 32 bits of data are no pointer.
  void search_addresses(std::span<const std::byte> bytes, std::uint64_t start, bool is_code) {
    const std::size_t width = is_code ? 4 : 8;
    if (bytes.size() < width) return;
    const std::uint64_t first = functions_.first(), reach = functions_.reach();
    for (std::size_t i = 0; i + width <= bytes.size(); ++i) {
      const std::uint64_t value =
          is_code ? load<std::uint32_t>(bytes.data() + i) : load<std::uint64_t>(bytes.data() + i);
      if (value - first > reach) [[likely]]
        continue;
      const auto function = functions_.find(value);
      if (function == functions_.size() || is_own(start + i)) continue;
      // Words that a loader fills are slots, and counted as such.
      const auto& slots = points_[function].slots;
      if (!std::binary_search(slots.begin(), slots.end(), ElfAddress{start + i}))
        ++points_[function].direct_references;
    }
  }

  void mark_exported() {
    for (const elf::Symbol& symbol : file_.symbols(elf::SymbolTable::kDynsym)) {
      if (symbol.section == SHN_UNDEF || symbol.binding == STB_LOCAL) continue;
      if (const auto function = functions_.find(symbol.address.value); function < functions_.size())
        points_[function].exported = true;
    }
  }

  const elf::ElfFile& file_;
  const Allocator& allocator_;
  const BranchCheck& may_branch_;
  std::vector<FilledWord> words_;
  Targets functions_, slots_;
  std::vector<HookPoints> points_;  // of each address, as the sizes
  std::vector<std::uint64_t> sizes_;
  std::vector<bool> is_named_;  // of each word
};

}  // namespace

std::vector<HookPoints> hook_points_of(const elf::ElfFile& file, const Allocator& allocator,
                                       const BranchCheck& may_branch) {
  return Search(file, allocator, may_branch).run();
}

}  // namespace fathom::allocators
