// The heap tables in a selection: what each site allocated, freed, had live. Windows are made of slices: one
// belongs to the window in which its middle lies, so that windows side by side share all of them, and sums of
// windows add up to the whole.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/core/container_frames.h"
#include "analysis/core/selection.h"
#include "model/profile.h"

namespace fathom::analysis {

// An estimate and its variance; the variance is 0 where every call was seen.
struct HeapAmount {
  double value = 0;
  double variance = 0;
  // Half of the 95 % interval.
  double error() const;
  void add(const HeapAmount& more) {
    value += more.value;
    variance += more.variance;
  }
};
struct HeapAmounts {
  HeapAmount blocks, bytes;
  void add(const HeapAmounts& more) {
    blocks.add(more.blocks);
    bytes.add(more.bytes);
  }
};

// One site in the window.
struct HeapSiteSums {
  HeapAmounts allocated, freed;  // inside of it
  HeapAmounts before;            // live at its start
  HeapAmounts live;              // live at its end
  HeapAmounts leaked;            // live at the end of the recording, whatever the window
  HeapAmounts growth;  // live - before; by identity of blocks: what was there all the time adds no error
  model::HeapSum temporary, short_lived;
};

class HeapSums {
 public:
  // One visit per row. `profile` outlives it.
  HeapSums(const model::Profile& profile, const Selection& selection);

  // By HeapSiteId; all zeros for sites that the selection leaves out.
  const std::vector<HeapSiteSums>& sites() const { return sites_; }
  bool takes(model::HeapSiteId site) const { return taken_[site.value] != 0; }
  const HeapSiteSums& total() const { return total_; }
  double window_s() const { return window_s_; }  // of the slices inside, the longest of all heaps

  // By site, what was live at the peak. Exact for the whole recording of one heap if no event was lost;
  // other heaps next to it as they were then, to the end of a slice. For a window, or after the recorder was
  // killed: what was live at the end of the slice with the most live bytes.
  struct Peak {
    std::vector<HeapAmounts> sites;
    HeapAmounts total;
    std::uint64_t time_ns = 0;  // of the largest heap
    bool exact = false;
    bool to_slice_end = false;  // the moment is the end of a slice, and not that of an event
  };
  const Peak& peak() const { return peak_; }

  // The value of a metric, in bytes or blocks as the selection asks for. All values add up to a finite
  // number.
  HeapAmount value(model::HeapSiteId site, model::Metric metric, HeapUnit unit) const;

 private:
  void find_peak(const Selection& selection);
  const model::Profile& profile_;
  std::vector<HeapSiteSums> sites_;
  std::vector<char> taken_;
  std::vector<char> slices_;  // 0 before the window, 1 inside, 2 after it
  HeapSiteSums total_;
  Peak peak_;
  double window_s_ = 0;
};

// Bytes or blocks: what was asked for, else what the metric is about.
HeapUnit unit_of_heap(const Selection& selection);

}  // namespace fathom::analysis
