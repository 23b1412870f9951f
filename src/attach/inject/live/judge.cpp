#include "attach/inject/live/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/stable_sort.h"

namespace fathom::inject {
namespace {

// No program requests a terabyte at once, and no block has an address that small.
constexpr std::uint64_t kLargestSize = std::uint64_t{1} << 40;
constexpr std::uint64_t kSmallestAddress = 0x10000;            // vm.mmap_min_addr
constexpr std::uint64_t kAddressEnd = std::uint64_t{1} << 56;  // with five levels of page tables
constexpr std::size_t kMostNested = 64;  // calls of one thread that have not returned yet
// Tolerated exceptions: one in kMistaken for mistakes of the program, one in kLostShare returns if hits were
// lost.
constexpr std::uint64_t kMistaken = 50, kLostShare = 20;

struct Call {
  std::uint64_t stack, return_to;
  std::optional<std::uint64_t> size;  // none: the requested size is not a valid size
  std::uint64_t alignment;
};

struct Block {
  std::uint64_t size;
  std::uint64_t aligned_size;  // rounded up to a multiple of its alignment
  std::uint64_t end;           // after its last byte
};

class Judge {
 public:
  Judge(const MemoryPicture& memory, const Belief& belief) : memory_(memory), belief_(belief) {}

  void see(const Hit& hit) {
    ++verdict_.hits;
    switch (hit.point) {
      case Point::kGives:
        return see_call(hit);
      case Point::kGave:
        return see_return(hit);
      case Point::kFrees:
        return see_free(hit);
      case Point::kResizes:
        return see_resize(hit);
    }
  }

  Verdict close(std::uint64_t lost) {
    verdict_.lost = lost;
    const bool all_seen = belief_.all_ends_watched && lost == 0;
    const auto against = [&](std::uint64_t count, std::uint64_t most, std::uint64_t of, const char* what) {
      if (count <= most) return;
      if (!verdict_.why.empty()) verdict_.why += ", ";
      verdict_.why += fmt::format("{} of {} {}", count, of, what);
    };
    against(odd_sizes_, verdict_.calls / kMistaken, verdict_.calls, "sizes asked for are none");
    against(odd_results_, 0, verdict_.blocks, "blocks given lie where no heap is");
    against(odd_frees_, 0, verdict_.frees, "blocks freed lie where no heap is");
    against(odd_resizes_, 0, verdict_.resizes, "blocks resized lie where no heap is");
    against(strangers_, lost == 0 ? 0 : returns_ / kLostShare, returns_, "returns belong to no call");
    const std::uint64_t frees = verdict_.known_frees, blocks = verdict_.blocks;
    // Calls that were not watched may explain many other sizes, but hardly nine in ten; a lost hit explains
    // one.
    const std::uint64_t unseen = std::max(frees - frees / 10, kEnoughFrees);
    against(other_sizes_, belief_.all_ends_watched ? std::min(lost, unseen) : unseen, frees,
            "blocks were freed with another size than they were given with");
    against(given_twice_, all_seen ? 0 : blocks, blocks,
            "blocks were handed out over a block that was not freed");
    if (!verdict_.why.empty()) {
      verdict_.kind = Verdict::Kind::kContradicted;
    } else if (verdict_.blocks < kEnoughBlocks || verdict_.known_frees < kEnoughFrees) {
      verdict_.kind = Verdict::Kind::kQuiet;
      verdict_.why = verdict_.hits == 0 ? std::string("nothing was called")
                                        : fmt::format("{}, where {} and {} would do", verdict_.describe(),
                                                      kEnoughBlocks, kEnoughFrees);
    } else {
      verdict_.kind = Verdict::Kind::kConfirmed;
    }
    return std::move(verdict_);
  }

 private:
  std::optional<std::uint64_t> size_of(const Hit& hit) const {
    std::uint64_t size = hit.first;
    if (belief_.multiplies && __builtin_mul_overflow(hit.first, hit.second, &size)) return std::nullopt;
    if (size >= kLargestSize) return std::nullopt;
    return size;
  }

  std::uint64_t alignment_of(const Hit& hit) const {
    return belief_.flags_tell_alignment ? std::uint64_t{1} << (hit.second & 63) : 1;
  }

  void see_call(const Hit& hit) {
    ++verdict_.calls;
    auto& calls = calls_[hit.thread];
    // Calls that are not below this one on the stack have returned in another way.
    while (!calls.empty() && calls.back().stack <= hit.stack) calls.pop_back();
    const auto size = size_of(hit);
    if (!size) ++odd_sizes_;
    if (calls.size() == kMostNested) calls.erase(calls.begin());
    calls.push_back({hit.stack, hit.return_to, size, alignment_of(hit)});
  }

  void see_return(const Hit& hit) {
    const auto known = calls_.find(hit.thread);
    if (known == calls_.end()) return;  // of a call from before the watch
    auto& calls = known->second;
    ++returns_;
    // Signal handlers may have run between a call and its return, and may have called, too.
    while (!calls.empty() && calls.back().stack < hit.stack) calls.pop_back();
    if (calls.empty() || calls.back().stack != hit.stack || calls.back().return_to != hit.return_to) {
      ++strangers_;
      return;
    }
    const Call call = calls.back();
    calls.pop_back();
    if (call.size && hit.result != 0) give(hit.result, *call.size, call.alignment);
  }

  void give(std::uint64_t start, std::uint64_t size, std::uint64_t alignment) {
    ++verdict_.blocks;
    if (is_odd(start)) {
      ++odd_results_;
      return;
    }
    const std::uint64_t end = start + std::max<std::uint64_t>(size, 1);
    bool lies_there = false;
    auto at = blocks_.upper_bound(start);
    if (at != blocks_.begin() && std::prev(at)->second.end > start) --at;
    while (at != blocks_.end() && at->first < end) {
      lies_there = true;
      at = blocks_.erase(at);
    }
    given_twice_ += lies_there ? 1 : 0;
    blocks_[start] = {size, (size + alignment - 1) & ~(alignment - 1), end};
  }

  bool is_odd(std::uint64_t address) const {
    return address < kSmallestAddress || address >= kAddressEnd ||
           memory_.kind_of(address) == MemoryPicture::Kind::kOther;
  }

  void see_free(const Hit& hit) {
    if (hit.first == 0) return;
    ++verdict_.frees;
    if (is_odd(hit.first)) {
      ++odd_frees_;
      return;
    }
    const auto block = blocks_.find(hit.first);
    if (block == blocks_.end()) return;
    ++verdict_.known_frees;
    if (belief_.frees_tell_size) {
      ++(is_size_of(block->second, hit.second) ? verdict_.equal_sizes : other_sizes_);
    }
    blocks_.erase(block);
  }

  // With its own size, or as a block that reused the place after an unwatched free: allocators divide memory
  // into places of one size class, and the class of a block is its size rounded up to its alignment.
  bool is_size_of(const Block& block, std::uint64_t freed) const {
    if (block.size == freed) return true;
    return belief_.same_size != nullptr &&
           (belief_.same_size(block.size, freed) || belief_.same_size(block.aligned_size, freed));
  }

  void see_resize(const Hit& hit) {
    if (hit.first == 0) return;
    ++verdict_.resizes;
    if (is_odd(hit.first)) {
      ++odd_resizes_;
      return;
    }
    // Its new address and size are unknown.
    verdict_.known_resizes += blocks_.erase(hit.first);
  }

  const MemoryPicture& memory_;
  const Belief& belief_;
  Verdict verdict_;
  // By thread, innermost last.
  std::unordered_map<std::int32_t, std::vector<Call>> calls_;
  std::map<std::uint64_t, Block> blocks_;  // by address; they do not overlap
  std::uint64_t returns_ = 0, odd_sizes_ = 0, odd_results_ = 0, odd_frees_ = 0, odd_resizes_ = 0,
                strangers_ = 0, other_sizes_ = 0, given_twice_ = 0;
};

}  // namespace

void MemoryPicture::add(std::span<const process::MapEntry> maps) {
  std::vector<Range> ranges;
  for (const process::MapEntry& each : maps) {
    // Memory with huge pages is backed by a file of the kernel.
    const bool nobodys_file = each.inode == 0 || each.path.starts_with("/anon_hugepage");
    ranges.push_back({each.start.value, each.end.value,
                      each.readable && each.writable && nobodys_file && each.path != "[stack]"});
  }
  std::ranges::sort(ranges, {}, &Range::start);
  moments_.push_back(std::move(ranges));
}

MemoryPicture::Kind MemoryPicture::kind_of(std::uint64_t address) const {
  Kind kind = Kind::kUnknown;
  for (const auto& ranges : moments_) {
    auto after = std::ranges::upper_bound(ranges, address, {}, &Range::start);
    if (after == ranges.begin() || std::prev(after)->end <= address) continue;
    if (std::prev(after)->anonymous) return Kind::kAnonymous;
    kind = Kind::kOther;
  }
  return kind;
}

std::string Verdict::describe() const {
  std::string text =
      fmt::format("{} block{} given, {} of them freed", blocks, blocks == 1 ? "" : "s", known_frees);
  if (equal_sizes != 0)
    text += equal_sizes == known_frees ? ", each with its size"
                                       : fmt::format(", {} with their size", equal_sizes);
  if (known_resizes != 0) text += fmt::format(", {} resized", known_resizes);
  return text;
}

Verdict judge(std::span<const Hit> hits, std::uint64_t lost, const MemoryPicture& memory,
              const Belief& belief) {
  Judge judge(memory, belief);
  for (const Hit& each : hits) judge.see(each);
  return judge.close(lost);
}

std::vector<Hit> complete_stretch(std::vector<Hit> hits, std::uint64_t from_ns, std::uint64_t until_ns,
                                  std::uint64_t most) {
  stable_sort_rows(hits, {}, &Hit::time_ns);
  std::map<std::pair<std::int32_t, Point>, std::uint64_t> met;
  std::size_t count = 0;
  for (const Hit& each : hits) {
    if (each.time_ns >= until_ns) break;
    if (each.time_ns >= from_ns) hits[count++] = each;
    if (++met[{each.thread, each.point}] >= most) break;
  }
  hits.resize(count);
  return hits;
}

}  // namespace fathom::inject
