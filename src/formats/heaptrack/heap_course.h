// Allocations and frees in the order in which they happened, summed up as the heap of a profile: by place and slice of time,
// with the peak exact to the event and what it was made of. Each event costs the same, however many places there are.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "formats/import/import.h"

namespace fathom::formats {

class HeapCourse {
 public:
  // Blocks of one size from one place.
  using Kind = std::uint32_t;
  static constexpr Kind kNoKind = UINT32_MAX;

  // The heap of `process`. `import` outlives it.
  HeapCourse(Import& import, model::ProcessId process);

  // `thread`: who allocates, where that is known.
  Kind kind(std::uint64_t size, model::StackId stack, model::ThreadId thread = model::kNoThread);
  std::size_t kinds() const { return kinds_.size(); }
  // False, and nothing is done, where all that was allocated would be more than 2^62 bytes.
  bool allocate(Kind kind);
  // A block that was allocated just before, with nothing between, was temporary. Of a kind that has no block nothing is
  // freed, and false returned.
  bool free(Kind kind);
  // Ends a slice here, if something happened in it. Times never go back.
  void end_slice(std::uint64_t time_ns);
  void now(std::uint64_t time_ns) { now_ns_ = time_ns; }
  // Fills the tables; once.
  void finish(std::uint64_t end_ns);

 private:
  struct KindRow {
    std::uint64_t size = 0, allocated = 0, live = 0;
    std::uint32_t site = 0;
  };
  struct Counts {
    std::uint64_t blocks = 0, bytes = 0;
    void add(std::uint64_t size) {
      ++blocks;
      bytes += size;
    }
  };
  struct Site {
    model::HeapSiteId id;
    std::uint64_t live_blocks = 0, live_bytes = 0;
    Counts allocated, freed, temporary;  // in this slice
    // What was live at peak number `peak`; a site that has not changed since then has what is live.
    std::uint64_t peak = 0, peak_blocks = 0, peak_bytes = 0;
    bool touched = false;
  };
  Site& touch(std::uint32_t site);
  static model::HeapSum sum_of(const Counts& counts) {
    return {static_cast<double>(counts.blocks), static_cast<double>(counts.bytes)};
  }

  Import& import_;
  model::HeapId heap_;
  std::vector<KindRow> kinds_;
  std::vector<Site> sites_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> site_rows_;  // by stack and thread
  std::vector<std::uint32_t> touched_;
  std::uint64_t now_ns_ = kImportStart, slice_start_ns_ = kImportStart;
  std::uint64_t allocated_bytes_ = 0, live_bytes_ = 0, live_blocks_ = 0;
  std::uint64_t peak_ = 0, peak_bytes_ = 0, peak_blocks_ = 0, peak_ns_ = kImportStart;
  std::uint64_t slice_peak_bytes_ = 0, slice_peak_ns_ = kImportStart;
  std::uint64_t events_ = 0;
  Kind last_allocated_ = kNoKind;
};

}  // namespace fathom::formats
