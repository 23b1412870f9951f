// The mappings of a process and what is known to live in them -> what its memory is made of, as rows of the
// profile. Pure: it is told what was read.
//
// Who owns anonymous memory, the first that applies: the tracer where it lies in what that mapped; an
// allocator of which a known block is live in it (of two: in proportion to these blocks' bytes); the program,
// where it mapped it; and else what the map itself says (MappingUse).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "profile/profile.h"
#include "record/heap/sites.h"
#include "record/proc/memory_map.h"
#include "record/proc/resident_pages.h"
#include "wire/heap_tracer.h"

namespace fathom::capture {

struct AddressRange {
  std::uint64_t start = 0, end = 0;
};

class MemoryComposition {
 public:
  // `own`: the tracer's. `mapped`: by the program itself; ascending, not overlapping.
  MemoryComposition(std::vector<record::JudgedMapping> mappings, std::span<const tracer_own_mapping> own,
                    std::span<const AddressRange> mapped);

  // Where it is worth knowing which pages are resident: anonymous memory that is so in part, the largest
  // first, together at most `most_pages` of address space; in ascending order.
  std::vector<AddressRange> wanted_pages(std::uint64_t most_pages) const;
  void set_pages(record::ResidentPages pages);  // before the first block

  void add_block(std::uint64_t address, std::uint64_t size, profile::HeapAllocatorId allocator,
                 const record::heap::Weight& weight);

  // At most kMostNamed names; the ranges of further ones share the name "others". `libc`: whose arenas those
  // are that are found by their shape.
  static constexpr std::size_t kMostNamed = 200;
  std::vector<profile::MemoryRange> rows(std::uint64_t time_ns, profile::ProcessId process,
                                         profile::HeapAllocatorId libc, profile::Builder& builder) const;

 private:
  struct Live {
    double blocks = 0, bytes = 0, resident = 0, variance = 0;
    bool sampled = false;
  };
  // A mapping, or the part of one that was mapped by one call.
  struct Segment {
    std::uint64_t start, end;
    std::size_t mapping;
    bool mapped;
    std::uint64_t rss = 0;  // anonymous
    bool pages_known = false;
    std::map<profile::HeapAllocatorId, Live> live = {};
  };
  Segment* segment_of(std::uint64_t address);
  void share_out_rss();
  bool is_tracers(const record::JudgedMapping& mapping) const;

  std::vector<record::JudgedMapping> mappings_;
  std::span<const tracer_own_mapping> own_;
  std::vector<Segment> segments_;  // of anonymous memory, ascending
  record::ResidentPages pages_;
  std::map<profile::HeapAllocatorId, Live> elsewhere_;  // in no segment
};

}  // namespace fathom::capture
