// The shared memory of a tracer, written by hand: for tests, the fuzz target and the benchmark.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/abi/heap_tracer.h"

namespace fathom::sources::heap {

class FakeTracer {
 public:
  static constexpr std::uint64_t kBase = 1'000'000;  // tsc_base
  // One tick is one nanosecond: tests drain at {kBase + t, kBase + t}.

  explicit FakeTracer(std::uint32_t rings = 2, std::uint32_t ring_bytes = 8192)
      : stride_(TRACER_RING_DATA + ring_bytes), words_((offset() + std::size_t{rings} * stride_) / 8) {
    tracer_shared& head = shared();
    head.magic = TRACER_MAGIC;
    head.version = TRACER_VERSION;
    head.header_bytes = sizeof(tracer_shared);
    head.bytes = words_.size() * 8;
    head.tsc_base = kBase;
    head.ring_count = rings;
    head.ring_bytes = ring_bytes;
    head.ring_stride = stride_;
    head.rings_offset = offset();
    layout_ = head;
  }
  // As the profiler planned it; a test of a hostile target changes shared() only.
  const tracer_shared& layout() const { return layout_; }
  tracer_shared& shared() { return *reinterpret_cast<tracer_shared*>(words_.data()); }
  std::span<std::byte> memory() { return std::as_writable_bytes(std::span(words_)); }
  tracer_ring& ring(std::uint32_t number) {
    return *reinterpret_cast<tracer_ring*>(memory().data() + offset() + std::size_t{number} * stride_);
  }

  // False: no room, as the tracer would find.
  bool write(std::uint32_t number, std::span<const std::uint64_t> record) {
    tracer_ring& to = ring(number);
    if (to.head == to.tail) ++shared().rings_taken;  // as a thread that takes it would
    const std::uint64_t bytes = shared().ring_bytes;
    if (to.head - to.tail + record.size() * 8 > bytes) return false;
    auto* data = reinterpret_cast<std::byte*>(&to) + TRACER_RING_DATA;
    for (const std::uint64_t word : record) {
      std::memcpy(data + (to.head & (bytes - 1)), &word, 8);
      to.head += 8;
    }
    return true;
  }
  bool thread(std::uint32_t number, std::uint64_t ticks, std::uint64_t tid) {
    ring(number).owner = static_cast<u32>(tid);
    return write(number, std::vector<std::uint64_t>{TRACER_FIRST(ticks, TRACER_EVENT_THREAD), tid});
  }
  bool stack(std::uint32_t number, std::uint64_t ticks, std::uint32_t stack,
             const std::vector<std::uint64_t>& addresses, std::uint8_t end = WALK_ROOT) {
    std::vector<std::uint64_t> record{
        TRACER_FIRST(ticks, TRACER_EVENT_STACK),
        stack | std::uint64_t{addresses.size()} << 32 | std::uint64_t{end} << 48};
    record.insert(record.end(), addresses.begin(), addresses.end());
    return write(number, record);
  }
  bool alloc(std::uint32_t number, std::uint64_t ticks, std::uint64_t block, std::uint64_t size,
             std::uint32_t stack = 0, std::uint32_t kind = TRACER_EVENT_ALLOC) {
    std::uint64_t record[] = {TRACER_FIRST(ticks, kind), block,
                              std::min<std::uint64_t>(size, UINT32_MAX) | std::uint64_t{stack} << 32, size};
    return write(number, std::span(record).first(size >= UINT32_MAX ? 4 : 3));
  }
  bool sample(std::uint32_t number, std::uint64_t ticks, std::uint64_t block, std::uint64_t size,
              std::uint32_t stack, std::uint32_t mean) {
    return write(number, std::vector<std::uint64_t>{TRACER_FIRST(ticks, TRACER_EVENT_SAMPLE), block, size,
                                                    stack | std::uint64_t{mean} << 32});
  }
  bool free(std::uint32_t number, std::uint64_t ticks, std::uint64_t block) {
    return write(number, std::vector<std::uint64_t>{TRACER_FIRST(ticks, TRACER_EVENT_FREE), block});
  }
  bool free_sized(std::uint32_t number, std::uint64_t ticks, std::uint64_t block, std::uint64_t size) {
    return write(number,
                 std::vector<std::uint64_t>{TRACER_FIRST(ticks, TRACER_EVENT_FREE_SIZED), block, size});
  }
  bool realloc(std::uint32_t number, std::uint64_t ticks, std::uint64_t old_block, std::uint64_t before,
               std::uint64_t new_block, std::uint32_t size, std::uint32_t stack = 0) {
    return write(number, std::vector<std::uint64_t>{TRACER_FIRST(ticks, TRACER_EVENT_REALLOC), old_block,
                                                    before, new_block, size | std::uint64_t{stack} << 32});
  }

 private:
  static constexpr std::size_t offset() { return (sizeof(tracer_shared) + 4095) / 4096 * 4096; }
  std::uint32_t stride_;
  tracer_shared layout_{};
  std::vector<std::uint64_t> words_;
};

}  // namespace fathom::sources::heap
