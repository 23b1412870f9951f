#include "attach/allocators/state/glibc_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "attach/allocators/state/glibc_lists.h"

namespace fathom::allocators {
namespace {

using glibc::Arena;
using glibc::FreeChunk;
using glibc::Lists;

constexpr std::uint64_t up_to_page(std::uint64_t address) {
  return (address + kPageBytes - 1) / kPageBytes * kPageBytes;
}
constexpr std::uint64_t down_to_page(std::uint64_t address) {
  return address / kPageBytes * kPageBytes;
}

// The whole pages of a free chunk, excluding malloc's own data there: six words of a chunk in a bin, the
// header of the top.
AddressRange free_pages(std::uint64_t address, std::uint64_t size, std::uint64_t kept) {
  const std::uint64_t start = up_to_page(address + kept), end = down_to_page(address + size);
  return {start, std::max(start, end)};
}

// Blocks with a mapping of their own: each begins a page with its size and a flag, and so does each run of
// pages that begins with one. Only accepted if they add up to malloc's own count.
std::vector<AddressRange> mapped_blocks(PresentMemory& memory, const ProcessMap& map,
                                        std::uint64_t expected) {
  constexpr std::size_t kMostBlocks = 1 << 17, kMostTries = 1 << 18;
  constexpr std::uint64_t kIsMapped = 2;
  std::vector<AddressRange> blocks;
  std::uint64_t sum = 0;
  std::size_t tries = 0;
  if (expected == 0) return blocks;
  for (const AddressRange& mapping : map.writable) {
    std::uint64_t done = mapping.start;
    for (const AddressRange& run : memory.present().within(mapping.start, mapping.end)) {
      if (run.start < done) continue;  // inside the previous block
      for (std::uint64_t at = run.start; at < mapping.end; at = done) {
        if (++tries > kMostTries || blocks.size() >= kMostBlocks) return {};
        const auto header = memory.value<std::array<std::uint64_t, 2>>(at);
        const std::uint64_t size = header ? (*header)[1] & ~std::uint64_t{7} : 0;
        if (!header || (*header)[0] != 0 || ((*header)[1] & 7) != kIsMapped || size == 0 ||
            size % kPageBytes != 0 || size > mapping.end - at)
          break;
        blocks.push_back({at, at + size});
        sum += size;
        done = at + size;
      }
    }
  }
  if (sum != expected) blocks.clear();
  return blocks;
}

class GlibcSums {
 public:
  GlibcSums(PresentMemory& memory, AllocatorState& state)
      : memory_(memory), present_(memory.present()), state_(state) {}

  void add(const Arena& arena, std::uint64_t index) {
    const Lists lists = read_lists(memory_, arena);
    broken_ += lists.broken;
    cut_ = cut_ || lists.cut;
    state_.records += lists.chunks + 1;
    bins_.bytes += lists.bin_bytes;
    fast_.bytes += lists.fast_bytes;
    top_.bytes += arena.top_bytes;
    const std::uint64_t free = lists.bin_bytes + lists.fast_bytes + arena.top_bytes;
    const std::uint64_t system = arena.record.system_bytes;
    if (free > system) broken_ += 1;
    const std::uint64_t used = system - std::min(free, system);
    live_.bytes += used;
    state_.arenas.push_back({.index = index, .live = used, .free = free, .held = system});
    whole_ = whole_ && arena.whole;
    add_pages(arena, lists, index == 0);
  }

  void add_mapped(const ProcessMap& map, const glibc::Parameters& parameters) {
    mapped_.bytes = parameters.mapped_bytes;
    auto blocks = mapped_blocks(memory_, map, parameters.mapped_bytes);
    const AddressRanges heaps(heaps_);
    if (std::any_of(blocks.begin(), blocks.end(),
                    [&](const AddressRange& block) { return heaps.bytes_in(block.start, block.end) != 0; }))
      blocks.clear();
    mapped_known_ = parameters.mapped_bytes == 0 || !blocks.empty();
    for (const AddressRange& block : blocks) {
      mapped_.resident += present_.bytes_in(block.start, block.end);
      state_.ranges.push_back({block.start, block.end, HeldKind::kMapped});
    }
  }

  // Chunks in the caches count as used in the arenas. Their pages belong to live blocks.
  void add_caches(const glibc::ThreadCaches& caches) {
    caches_.bytes = std::min(caches.bytes, live_.bytes);
    live_.bytes -= caches_.bytes;
    state_.records += caches.chunks;
  }

  bool cut() const { return cut_; }

  void finish() {
    std::sort(state_.ranges.begin(), state_.ranges.end(),
              [](const HeldRange& a, const HeldRange& b) { return a.start < b.start; });
    // Broken lists, and mappings that were read at different times, may overlap: the first of two stays.
    std::vector<HeldRange> apart;
    for (const HeldRange& range : state_.ranges)
      if (apart.empty() || range.start >= apart.back().end) apart.push_back(range);
    state_.ranges = std::move(apart);
    share_out_live_pages();
    state_.lines = {live_, bins_, fast_, caches_, top_, mapped_};
    state_.moved = broken_;
    state_.certainty = broken_ == 0 ? Certainty::kVerified : Certainty::kMoved;
    if (!whole_)
      state_.reason = "a part of the main arena lies outside of the program break and is not split up";
    else if (!mapped_known_)
      state_.reason = "where the blocks with a mapping of their own lie is not known";
    // A list that broke off hides the free chunks after that point: at most everything that seems to be used.
    if (broken_ > 0) state_.moved_bytes = live_.bytes;
  }

 private:
  // Free chunks smaller than a page, and the ends of larger ones, share pages with live blocks.
  void share_out_live_pages() {
    bins_.resident_is_shared_out = fast_.resident_is_shared_out = caches_.resident_is_shared_out = true;
    const std::uint64_t pages = live_.resident, bins = bins_.bytes - std::min(bins_.bytes, whole_bin_pages_);
    const auto all = static_cast<double>(live_.bytes + bins + fast_.bytes + caches_.bytes);
    if (all <= 0) return;
    const auto give = [&](HeldLine& line, std::uint64_t bytes) {
      const auto part =
          static_cast<std::uint64_t>(static_cast<double>(pages) * static_cast<double>(bytes) / all);
      line.resident += part;
      live_.resident -= part;
    };
    give(bins_, bins);
    give(fast_, fast_.bytes);
    give(caches_, caches_.bytes);
    state_.free_in_live_pages = pages - live_.resident;
  }

  void add_pages(const Arena& arena, const Lists& lists, bool main) {
    constexpr std::uint64_t kKeptOfChunk = 48, kKeptOfTop = 32;
    std::vector<HeldRange> free;
    for (const FreeChunk& chunk : lists.bins) {
      const AddressRange pages = free_pages(chunk.address, chunk.size, kKeptOfChunk);
      if (pages.size() == 0) continue;
      free.push_back({pages.start, pages.end, HeldKind::kBins});
      whole_bin_pages_ += pages.size();
    }
    const AddressRange top = free_pages(arena.record.top, arena.top_bytes, kKeptOfTop);
    if (arena.top_bytes != 0 && top.size() != 0) free.push_back({top.start, top.end, HeldKind::kTop});
    std::sort(free.begin(), free.end(),
              [](const HeldRange& a, const HeldRange& b) { return a.start < b.start; });
    auto next = free.begin();
    for (const AddressRange& heap : arena.heaps) {
      heaps_.push_back(heap);
      std::uint64_t at = heap.start, resident = present_.bytes_in(heap.start, heap.end);
      for (; next != free.end() && next->start < heap.end; ++next) {
        if (next->start < at || next->end > heap.end) continue;  // inconsistent: overlaps the previous one
        const std::uint64_t pages = present_.bytes_in(next->start, next->end);
        resident -= pages;
        (next->kind == HeldKind::kTop ? top_ : bins_).resident += pages;
        // malloc_trim only shrinks the end of the program break: a heap of a thread's arena shrinks when a
        // free() makes its top large enough.
        if (main || next->kind == HeldKind::kBins) state_.returnable += pages;
        if (main && next->kind == HeldKind::kTop) state_.returnable_top += pages;
        if (next->start > at) state_.ranges.push_back({at, next->start, HeldKind::kLive});
        state_.ranges.push_back(*next);
        at = next->end;
      }
      if (heap.end > at) state_.ranges.push_back({at, heap.end, HeldKind::kLive});
      live_.resident += resident;
    }
  }

  PresentMemory& memory_;
  const AddressRanges& present_;
  AllocatorState& state_;
  // Small free chunks share their pages with live ones: until finish() these pages count for live_.
  HeldLine live_{HeldKind::kLive, 0, 0, true}, bins_{HeldKind::kBins}, fast_{HeldKind::kFastBins},
      caches_{HeldKind::kThreadCache}, top_{HeldKind::kTop}, mapped_{HeldKind::kMapped};
  std::vector<AddressRange> heaps_;    // of all arenas
  std::uint64_t whole_bin_pages_ = 0;  // bytes of free chunks with pages of their own
  std::uint64_t broken_ = 0;
  bool cut_ = false, whole_ = true, mapped_known_ = true;
};

AllocatorState unknown(std::string module, std::string why) {
  AllocatorState state;
  state.name = "glibc";
  state.module = std::move(module);
  state.reason = std::move(why);
  return state;
}

}  // namespace

std::optional<AllocatorState> read_glibc(PresentMemory& memory, const ProcessMap& map) {
  AllocatorState state;
  state.name = "glibc";
  std::string why;
  const auto found = glibc::find(memory, map, why);
  if (!found) {
    const auto libc = std::find_if(map.data.begin(), map.data.end(), [](const ModuleData& data) {
      const std::string name = data.path.substr(data.path.rfind('/') + 1);
      return name.starts_with("libc.so") || name.starts_with("libc-2.");
    });
    if (libc == map.data.end()) return std::nullopt;
    if (memory.used_up()) why = kTooMuch;
    return unknown(libc->path,
                   why.empty() ? "its malloc was never used, or its records have an unknown version" : why);
  }
  state.module = found->module;
  state.layout = found->parameters ? (found->parameters->since_2_35 ? "2.35 to 2.41" : "2.27 to 2.34") : "";
  GlibcSums sums(memory, state);
  std::uint64_t index = 0;
  for (const Arena& arena : found->arenas) sums.add(arena, index++);
  if (found->parameters) {
    sums.add_mapped(map, *found->parameters);
    state.trim_threshold = found->parameters->trim_threshold;
  }
  sums.add_caches(read_thread_caches(memory, map, found->arenas));
  sums.finish();
  // Free chunks that were missed would count as live.
  if (memory.used_up() || sums.cut()) return unknown(state.module, std::string(kTooMuch));
  return state;
}

}  // namespace fathom::allocators
