// Rings of the heap tracer, in memory that the target can write to at any moment: any bytes at any positions
// are read to an end, and the result is valid.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "base/cursor.h"
#include "record/heap/collector.h"
#include "record/heap/testing_tracer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom;
  using namespace fathom::sources::heap;
  Cursor in(std::as_bytes(std::span(data, size)));
  FakeTracer tracer(3, 8192);
  CollectorOptions options;
  options.seed = 1;
  options.max_sites = 64;
  options.max_stacks = 32;
  options.max_live_blocks = 200;
  options.first_slice_ns = 1000;
  options.by_thread = (in.read<std::uint8_t>() & 1) != 0;
  auto collector =
      Collector::create(tracer.layout(), tracer.memory(), {FakeTracer::kBase, 1'000'000}, options);
  if (!collector) std::abort();
  std::uint64_t now = 0;
  while (!in.at_end()) {
    const auto what = in.read<std::uint8_t>();
    tracer_ring& ring = tracer.ring(what % 3);
    ++tracer.shared().rings_taken;
    auto* bytes = reinterpret_cast<std::byte*>(&ring) + TRACER_RING_DATA;
    if ((what & 0x80) != 0) {  // the head, wherever it points
      ring.head = in.read<std::uint64_t>();
      ring.owner = what;
    } else {  // a record or a part of one
      const auto record = in.read_bytes(std::min<std::size_t>(in.read<std::uint8_t>() * 8u, in.remaining()));
      for (const std::byte byte : record) bytes[ring.head++ & 8191] = byte;
      ring.head += -ring.head & 7;
    }
    if ((what & 0x40) == 0) continue;
    now += 700;
    const Round round = collector->drain({FakeTracer::kBase + now, 1'000'000 + now});
    for (const NewStack& stack : round.stacks)
      if (stack.stack == 0 || stack.stack > options.max_stacks) std::abort();
    if (const auto slice = collector->slice()) {
      double bytes_live = 0;
      for (const SliceRow& row : slice->rows)
        if (row.site >= slice->first_new_site + slice->new_sites.size()) std::abort();
      for (const SiteKey& key : slice->new_sites) bytes_live += key.stack;
      if (slice->end_ns < slice->start_ns || bytes_live < 0) std::abort();
    }
    collector->release_rings([](std::int32_t tid) { return (tid & 1) != 0; });
  }
  if (collector->live_blocks_followed() > options.max_live_blocks) std::abort();
  (void)collector->summary();
  (void)collector->counters();
  return 0;
}
