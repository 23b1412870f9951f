// A process's mappings and their known contents -> its memory composition, as rows of the profile. Pure: the
// caller passes in everything that was read.
//
// The owner of anonymous memory is the first that applies: the tracer, in its own mappings; an allocator with
// a known live block there (if there are two: in proportion to these blocks' bytes); an allocator whose own
// records claim it; the program, if it mapped it; else what the map itself says (MappingUse).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/abi/heap_tracer.h"
#include "linux/memory/memory_map.h"
#include "linux/memory/resident_pages.h"
#include "model/profile.h"
#include "record/heap/sites.h"

namespace fathom::session {

struct AddressRange {
  std::uint64_t start = 0, end = 0;
};

// What lies in the same pages as something else, as free blocks do among live ones.
struct SharedPages {
  std::string_view state;
  double share = 0;  // of the bytes, 0 to 1
};

class MemoryComposition {
 public:
  // `own`: the tracer's. `mapped`: by the program itself; ascending, not overlapping.
  MemoryComposition(std::vector<sources::JudgedMapping> mappings, std::span<const tracer_own_mapping> own,
                    std::span<const AddressRange> mapped);

  // Where it is worth knowing which pages are resident: anonymous memory that is so in part, the largest
  // first, together at most `most_pages` of address space; in ascending order.
  std::vector<AddressRange> wanted_pages(std::uint64_t most_pages) const;
  void set_pages(sources::ResidentPages pages);  // before the first block

  // What an allocator says of its own memory, where none of its blocks is known: "dirty", "in use". Ranges do not
  // overlap; after set_pages(). `state` becomes the name of the row. `other`: has a share of the same pages.
  void add_held(std::uint64_t start, std::uint64_t end, model::HeapAllocatorId allocator,
                std::string_view state, const SharedPages& other = {});

  void add_block(std::uint64_t address, std::uint64_t size, model::HeapAllocatorId allocator,
                 const sources::heap::Weight& weight);

  // At most kMostNamed names; the ranges of further ones share the name "others". `libc`: whose arenas those
  // are that are found by their shape.
  static constexpr std::size_t kMostNamed = 200;
  std::vector<model::MemoryRange> rows(std::uint64_t time_ns, model::ProcessId process,
                                       model::HeapAllocatorId libc, model::Builder& builder) const;

 private:
  struct Live {
    double blocks = 0, bytes = 0, resident = 0, variance = 0;
    bool sampled = false;
  };
  using HeldKey = std::pair<model::HeapAllocatorId, std::string>;
  using HeldView = std::pair<model::HeapAllocatorId, std::string_view>;
  // Found without copying the name: there are millions of ranges.
  struct HeldOrder {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return HeldView(a.first, a.second) < HeldView(b.first, b.second);
    }
  };
  struct Held {
    std::uint64_t bytes = 0, resident = 0, ranges = 0;
  };
  // A mapping, or the part of one that was mapped by one call.
  struct Segment {
    std::uint64_t start, end;
    std::size_t mapping;
    bool mapped;
    std::uint64_t rss = 0;  // anonymous
    bool pages_known = false;
    std::map<model::HeapAllocatorId, Live> live = {};
    std::map<HeldKey, Held, HeldOrder> held = {};
  };
  // What of a segment is not in a row yet.
  struct Rest {
    std::uint64_t size, rss;
  };
  class Rows;  // in memory_composition.cpp
  Segment* segment_of(std::uint64_t address);
  void share_out_rss();
  void add_mapping(const sources::JudgedMapping& judged, Rows& rows) const;
  void add_segment(const Segment& segment, model::HeapAllocatorId libc, Rows& rows) const;
  Rest add_held_rows(const Segment& segment, Rows& rows) const;
  static void add_live(model::MemoryRange& row, const Segment& segment, const Live& live, std::uint64_t rss);
  bool is_tracers(const sources::JudgedMapping& mapping) const;

  std::vector<sources::JudgedMapping> mappings_;
  std::span<const tracer_own_mapping> own_;
  std::vector<Segment> segments_;  // of anonymous memory, ascending
  // Shared: a composition may be copied.
  std::shared_ptr<const sources::ResidentPages> pages_ = std::make_shared<const sources::ResidentPages>();
  std::map<model::HeapAllocatorId, Live> elsewhere_;  // in no segment
};

}  // namespace fathom::session
