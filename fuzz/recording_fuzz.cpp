// Recording files. Checksums would stop nearly every mutation, so the first byte chooses the meaning of the
// rest: even: a file as it is; odd: blocks (type, rows, size and payload) that get valid headers here.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <span>

#include "base/cursor.h"
#include "model/store/block.h"
#include "model/store/payload.h"
#include "model/store/reader.h"

namespace {

using namespace fathom;

Bytes with_sound_headers(Cursor in) {
  constexpr std::uint32_t kTypes[] = {store::kTables, store::kState, store::kSamples, store::kPoints,
                                      store::kIndex,  store::kEnd,   store::kWaits,   store::kHeap,
                                      store::kFaults, store::kLives};
  Bytes file = store::encode_file_header();
  store::BlockEncoder encoder;
  std::uint32_t sequence = 0;
  while (!in.at_end()) {
    const auto kind = in.read<std::uint8_t>();
    const auto rows = in.read<std::uint16_t>();
    const auto payload = in.read_bytes(std::min<std::size_t>(in.read<std::uint16_t>(), in.remaining()));
    if (kind >= 0xf0) ++sequence;  // a missing block
    encoder.append(file, kTypes[kind % std::size(kTypes)], sequence++, rows,
                   Bytes(payload.begin(), payload.end()));
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Cursor in(std::as_bytes(std::span(data, size)));
  const bool blocks = (in.read<std::uint8_t>() & 1) != 0;
  const Bytes file = blocks ? with_sound_headers(in) : Bytes(in.rest().begin(), in.rest().end());
  store::ReadOptions options;
  options.memory_limit_bytes = 8 << 20;  // runs expand: a lower limit gives more inputs a second
  for (const int way : {0, 1, 2}) {
    const bool window = way == 1;
    options.from_ns = options.to_ns = {};
    if (way == 2) {  // only selected blocks of the heap
      options.blocks.emplace();
      options.blocks->least_size = 16;
      options.blocks->keep = 3;
    }
    if (window) {
      options.from_ns = 1'000'000'000;
      options.to_ns = 400'000'000'000;
    }
    auto profile = store::read_bytes(file, "fuzz", options);
    if (!profile) continue;
    // Any returned profile is valid, for any input, and no stored sample or wait is missing.
    if (!model::check(*profile)) std::abort();
    if (profile->quality.truncated &&
        (profile->quality.samples != profile->samples.size() + profile->quality.filtered ||
         profile->quality.waits != profile->waits.size() + profile->quality.filtered_waits))
      std::abort();
    // The content is cut to the window.
    if (window)
      for (const auto& wait : profile->waits)
        if (wait.start_ns < *options.from_ns || store::end_of(wait) > *options.to_ns) std::abort();
  }
  return 0;
}
