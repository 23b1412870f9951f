#include "linux/perf/ring_set.h"

#include <algorithm>
#include <iterator>

#include "base/clock.h"
#include "linux/perf/event.h"

namespace fathom::sources {
namespace {

std::uint64_t time_of(const Event& event) {
  return std::visit(
      [](const auto& e) -> std::uint64_t {
        if constexpr (requires { e.time_ns; })
          return e.time_ns;
        else
          return 0;
      },
      event);
}

}  // namespace

Result<RingSet> RingSet::open(const RecordDecoder& decoder, std::size_t most_bytes, std::size_t least_bytes,
                              const OpenEvent& open_event, std::vector<int> cpus) {
  if (cpus.empty()) cpus = online_cpus();
  for (std::size_t ring_bytes = most_bytes;; ring_bytes /= 2) {
    RingSet rings(decoder);
    Result<> added;
    for (std::size_t i = 0; added && i < cpus.size(); ++i) {
      auto event = open_event(cpus[i], ring_bytes);
      if (!event) return tl::unexpected(event.error());
      added = rings.add(cpus[i], std::move(*event), ring_bytes);
    }
    if (added) return rings;
    if (ring_bytes / 2 < least_bytes) return tl::unexpected(added.error());
  }
}

Result<> RingSet::add_cpu(int cpu, const OpenEvent& open_event) {
  const std::size_t ring_bytes = rings_.front().ring.size();
  auto event = open_event(cpu, ring_bytes);
  if (!event) return tl::unexpected(event.error());
  return add(cpu, std::move(*event), ring_bytes);
}

void RingSet::retire_cpu(int cpu) {
  for (CpuRing& ring : rings_)
    if (ring.cpu == cpu) ring.cpu = kRetired;
}

Result<> RingSet::add(int cpu, Fd event, std::size_t ring_bytes) {
  auto ring = PerfRing::map(event.get(), ring_bytes);
  if (!ring) return tl::unexpected(ring.error());
  rings_.push_back({cpu, std::move(event), std::move(*ring)});
  return {};
}

void RingSet::read_all() {
  for (CpuRing& cpu_ring : rings_) {
    const auto cpu = static_cast<std::uint16_t>(cpu_ring.cpu);
    const std::uint64_t malformed_before = cpu_ring.ring.malformed();
    const auto count_malformed = [&] {
      ++malformed_;
      pending_.push_back(Lost{cpu_ring.last_time_ns, 1, Lost::What::kMalformed});
    };
    cpu_ring.ring.drain([&](std::span<const std::byte> record) {
      auto event = decoder_.decode(record, cpu);
      if (!event) return count_malformed();
      if (!*event) return;
      if (auto* lost = std::get_if<Lost>(&**event)) {
        lost_ += lost->count;
        if (lost->time_ns == 0) lost->time_ns = cpu_ring.last_time_ns;
      }
      cpu_ring.last_time_ns = time_of(**event);
      pending_.push_back(std::move(**event));
    });
    if (cpu_ring.ring.malformed() != malformed_before) count_malformed();
  }
}

void RingSet::drain(std::vector<Event>& out) {
  // On a full machine a round may be interrupted between two rings, several times over.
  constexpr int kRounds = 8;
  for (int round = 1; round <= kRounds; ++round) {
    const std::uint64_t now = monotonic_ns();
    read_all();
    std::stable_sort(pending_.begin(), pending_.end(),
                     [](const Event& a, const Event& b) { return time_of(a) < time_of(b); });
    // Everything up to `now` had been written when we began to read. After the last round there may be more
    // of the same kind; but holding it back until the next call could take long.
    const auto complete = round == kRounds
                              ? pending_.end()
                              : std::find_if(pending_.begin(), pending_.end(),
                                             [&](const Event& event) { return time_of(event) > now; });
    out.insert(out.end(), std::move_iterator(pending_.begin()), std::move_iterator(complete));
    pending_.erase(pending_.begin(), complete);
    if (pending_.empty()) return;
  }
}

std::vector<int> RingSet::fds() const {
  std::vector<int> fds;
  for (const CpuRing& ring : rings_) fds.push_back(ring.event.get());
  return fds;
}

std::vector<int> RingSet::cpus() const {
  std::vector<int> cpus;
  for (const CpuRing& ring : rings_)
    if (ring.cpu != kRetired) cpus.push_back(ring.cpu);
  return cpus;
}

int RingSet::fd_of(int cpu) const {
  const auto found =
      std::find_if(rings_.begin(), rings_.end(), [&](const CpuRing& ring) { return ring.cpu == cpu; });
  return found == rings_.end() ? -1 : found->event.get();
}

std::size_t RingSet::memory_bytes() const {
  std::size_t sum = 0;
  for (const CpuRing& ring : rings_) sum += ring.ring.size();
  return sum;
}

}  // namespace fathom::sources
