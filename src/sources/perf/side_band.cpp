#include "sources/perf/side_band.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "sources/perf/event.h"

namespace fathom::sources {

void report_tasks(perf_event_attr& attributes) {
  attributes.mmap = 1;  // executable mappings; without it mmap2 alone says nothing
  attributes.mmap2 = 1;
  attributes.comm = 1;
  attributes.comm_exec = 1;
  attributes.task = 1;
}

Result<SideBand> SideBand::open(std::size_t ring_bytes) {
  perf_event_attr attributes = base_attributes();
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.watermark = 1;
  attributes.wakeup_watermark = 1;
  report_tasks(attributes);

  constexpr std::size_t kLeast = 32 * 1024;
  auto rings =
      RingSet::open(RecordDecoder(attributes), std::max(std::bit_floor(ring_bytes), kLeast), kLeast,
                    [&](int cpu, std::size_t) {
                      return open_event(attributes, -1, cpu, "mappings, names and threads of all processes");
                    });
  if (!rings) return tl::unexpected(rings.error());
  return SideBand(std::move(*rings));
}

void SideBand::drain(std::vector<SideBandEvent>& out) {
  scratch_.clear();
  rings_.drain(scratch_);
  for (Event& event : scratch_) {
    std::visit(
        [&](auto& e) {
          if constexpr (std::is_constructible_v<SideBandEvent, std::remove_reference_t<decltype(e)>>)
            out.emplace_back(std::move(e));
        },
        event);
  }
}

}  // namespace fathom::sources
