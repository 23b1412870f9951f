// The bytes of a perf ring: any position, any content, decoded both as side band and as samples.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "linux/perf/decoder.h"
#include "linux/perf/event.h"
#include "linux/perf/ring.h"
#include "linux/perf/side_band.h"

namespace {

perf_event_attr attributes(bool sampling) {
  perf_event_attr attr = fathom::sources::base_attributes();
  fathom::sources::report_tasks(attr);
  if (sampling) {
    attr.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attr.sample_regs_user = fathom::sources::RecordDecoder::kUserRegisters;
  }
  return attr;
}

}  // namespace

// Input: one byte of flags, two of the position, then the ring's content, filled up to a power of two.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom::sources;
  constexpr std::size_t kHeader = 3;
  constexpr std::size_t kRing = 4096;
  if (size < kHeader) return 0;
  const bool sampling = (data[0] & 1) != 0;
  std::uint16_t position = 0;
  std::memcpy(&position, data + 1, sizeof position);
  position &= static_cast<std::uint16_t>(~7u);
  const std::size_t length = std::min<std::size_t>(size - kHeader, kRing) & ~std::size_t{7};
  std::vector<std::byte> ring(kRing);
  for (std::size_t i = 0; i < length; ++i)
    ring[(position + i) & (kRing - 1)] = static_cast<std::byte>(data[kHeader + i]);

  const RecordDecoder decoder(attributes(sampling));
  RecordReader reader(ring, position, position + length);
  std::uint64_t last = reader.position();
  while (const auto record = reader.next()) {
    if (record->size() < sizeof(perf_event_header) || reader.position() <= last) std::abort();
    last = reader.position();
    const auto event = decoder.decode(*record, 0);
    if (!event || !*event) continue;
    if (const auto* sample = std::get_if<CopiedStackSample>(&**event)) {
      if (sample->stack.size() > record->size() || sample->kernel.size() * 8 > record->size()) std::abort();
    }
    if (const auto* mapped = std::get_if<MemoryMapped>(&**event)) {
      if (mapped->mapping.end < mapped->mapping.start) std::abort();
    }
  }
  if (reader.position() != position + length) std::abort();
  return 0;
}
