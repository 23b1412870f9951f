#include "linux/perf/side_band.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include "linux/perf/event.h"

namespace fathom::sources {

void report_tasks(perf_event_attr& attributes) {
  attributes.mmap = 1;  // executable mappings; without it mmap2 alone says nothing
  attributes.mmap2 = 1;
  attributes.comm = 1;
  attributes.comm_exec = 1;
  attributes.task = 1;
}

namespace {

perf_event_attr side_band_attributes() {
  perf_event_attr attributes = base_attributes();
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
  attributes.watermark = 1;
  attributes.wakeup_watermark = 1;
  report_tasks(attributes);
  return attributes;
}

Result<Fd> open_on(int cpu) {
  return open_event(side_band_attributes(), -1, cpu, "mappings, names and threads of all processes");
}

}  // namespace

Result<> SideBand::rehearse() {
  if (auto opened = open_on(online_cpus().front()); !opened) return tl::unexpected(opened.error());
  return {};
}

Result<SideBand> SideBand::open(std::size_t ring_bytes) {
  constexpr std::size_t kLeast = 32 * 1024;
  auto rings =
      RingSet::open(RecordDecoder(side_band_attributes()), std::max(std::bit_floor(ring_bytes), kLeast),
                    kLeast, [](int cpu, std::size_t) { return open_on(cpu); });
  if (!rings) return tl::unexpected(rings.error());
  return SideBand(std::move(*rings));
}

Result<> SideBand::add_cpu(int cpu) {
  return rings_.add_cpu(cpu, [](int on_cpu, std::size_t) { return open_on(on_cpu); });
}

void SideBand::retire_cpu(int cpu) {
  rings_.retire_cpu(cpu);
  enabled_ns_.erase(cpu);
}

bool SideBand::has_stopped(int cpu) {
  struct {
    std::uint64_t value, enabled_ns;
  } now{};
  const int fd = rings_.fd_of(cpu);
  if (fd < 0 || ::read(fd, &now, sizeof(now)) != sizeof(now)) return false;
  return std::exchange(enabled_ns_[cpu], now.enabled_ns) == now.enabled_ns;
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
