// Reads recording files. A recording that was cut short (kill -9, full disk, power) is read up to its last
// whole block; a damaged block costs what it held. Untrusted input: any bytes are either read into a profile
// that passes check(), or refused. Format: docs/format.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "model/profile.h"
#include "model/store/heap_filter.h"

namespace fathom::store {

struct ReadOptions {
  // CLOCK_MONOTONIC, as Sample::time_ns: from <= time < to. Samples and points outside are left out; such
  // samples are counted in quality.filtered. A wait is kept with the part of it that lies inside, its
  // began_before and unfinished set where it was cut; the others are counted in quality.filtered_waits.
  // meta.start_ns and end_ns move to the window: whoever reads a window must not select it again by times
  // relative to meta.start_ns. Sums of threads and of quality stay those of the whole recording.
  std::optional<std::uint64_t> from_ns, to_ns;
  // With it the tables of the heap tell of the blocks that pass, and of nothing else: rows, slices, summaries
  // and histograms are made from the lives of single blocks, which are read one after the other and not kept.
  // So it takes memory for sites and slices only, however many blocks there are. The peak is then known to a
  // part of a slice. kNotFound if the recording has no lives of blocks. Without it they are stepped over.
  std::optional<HeapBlockFilter> blocks = {};
  // Samples, waits and rows of the heap are packed as they are read (model/packed_rows.h), for who only reads them once or twice
  // over: a third of the memory. They stay open where the file is damaged, or where blocks are chosen from it.
  bool packed = false;
  // Called now and then with the part that is done, 0 to 1, where blocks are read.
  std::function<void(double)> progress = {};
  // More than this (about what the profile will occupy) is refused. The default holds about 100 million
  // samples.
  std::uint64_t memory_limit_bytes = std::uint64_t{4} << 30;
};

// quality.truncated: the recording has no end mark, because it was killed or is still being written.
// quality.notes: a sentence for each thing that was lost. Lost samples whose number is known are added to
// quality.lost_disk. Errors: kMalformed (no recording, or nonsense inside), kUnsupported (newer format, too
// large).
Result<model::Profile> read(const std::string& path, const ReadOptions& options = {});
// The same of bytes in memory; `name` is for messages.
Result<model::Profile> read_bytes(std::span<const std::byte> bytes, const std::string& name,
                                  const ReadOptions& options = {});

// By the first 8 bytes.
bool is_recording(std::span<const std::byte> first_bytes);

}  // namespace fathom::store
