// A process with a jemalloc and a glibc whose memory may contain anything: the input is a list of places and
// words. Only present memory is read, work is bounded, and the result is well-formed.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "attach/allocators/state/remedies.h"
#include "attach/allocators/state/testing_memory.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom::allocators;
  using Jemalloc = testing::HandMadeJemalloc;
  using Glibc = testing::HandMadeGlibc;
  testing::HandMadeMemory memory;
  Jemalloc jemalloc(memory);
  Glibc glibc(memory);
  for (int i = 0; i < 8; ++i) jemalloc.add(5 * 4096, 0, 17, true, 3);
  jemalloc.add(40 * 4096, 1, 232);
  for (unsigned i = 0; i < 8; ++i) glibc.free(0x1000 + i * 0x2000, 0x1000);
  glibc.free_fast(0x20000, 0x30);

  const std::uint64_t bases[] = {Jemalloc::kRoot, Jemalloc::kBlock,   Jemalloc::kLeaf, Jemalloc::kHeap,
                                 Glibc::kArena,   Jemalloc::kRecords, Glibc::kHeap,    Glibc::kData};
  // Place: a base and a distance; word: as it is, or a distance from a base.
  struct Change {
    std::uint8_t base, pointer;
    std::uint16_t offset;
    std::uint64_t word;
  };
  for (std::size_t at = 0; at + 12 <= size; at += 12) {
    Change change;
    change.base = data[at];
    change.pointer = data[at + 1];
    std::memcpy(&change.offset, data + at + 2, 2);
    std::memcpy(&change.word, data + at + 4, 8);
    const std::uint64_t place =
        (bases[change.base % std::size(bases)] + std::uint64_t{change.offset} * 8) / 8 * 8;
    const bool points = change.pointer % 2 != 0;
    memory.write(
        place, points ? bases[change.pointer / 2 % std::size(bases)] + change.word % (1 << 22) : change.word);
  }

  const AddressRanges present = memory.present();
  const AllocatorStates states = memory.states();
  require(memory.faults == 0);
  require(memory.bytes_read < std::uint64_t{1} << 32);
  for (const AllocatorState& state : states.allocators) {
    require(state.certainty != Certainty::kUnknown || (!state.reason.empty() && state.lines.empty()));
    std::uint64_t resident = 0;
    for (const HeldLine& line : state.lines) resident += line.resident;
    require(resident <= present.bytes_in(0, kAddressLimit));
    for (std::size_t i = 0; i < state.ranges.size(); ++i) {
      require(state.ranges[i].start < state.ranges[i].end);
      require(i == 0 || state.ranges[i - 1].end <= state.ranges[i].start);
    }
    (void)remedies_of(state);
  }
  return 0;
}
