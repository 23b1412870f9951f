// Reads recording files. A recording that ends early (kill -9, full disk, power failure) is read up to its
// last complete block; a damaged block costs only its content. Untrusted input: any bytes either become a
// profile that passes check(), or are rejected. Format: docs/format.md.
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
  // CLOCK_MONOTONIC, as in Sample::time_ns: from <= time < to. Samples and points outside are dropped; such
  // samples are counted in quality.filtered. A wait keeps the part that lies inside, with began_before and
  // unfinished set where it was cut; the others are counted in quality.filtered_waits. meta.start_ns and
  // end_ns move to the window, so callers must not select it again by times relative to meta.start_ns. Sums
  // of threads and of quality stay those of the whole recording.
  std::optional<std::uint64_t> from_ns, to_ns;
  // If set, the heap tables cover only the blocks that pass: rows, slices, summaries and histograms are made
  // from the lifetimes of single blocks, which are read one after the other and not kept. So memory is needed
  // for sites and slices only, for any number of blocks. The time of the peak is then known to a fraction of
  // a slice. kNotFound if the recording has no lifetimes of blocks. If not set, they are skipped.
  std::optional<HeapBlockFilter> blocks = {};
  // Packs samples, waits and heap rows as they are read (model/packed_rows.h), for callers that only read them once or twice: needs a
  // third of the memory. They stay unpacked if the file is damaged, or if blocks are selected; they stay packed if blocks are only
  // listed (HeapBlockFilter::if_recorded).
  bool packed = false;
  // Only what a list of recordings shows: meta, modules, processes, threads and quality, and which heaps there are when the first of
  // them is (their figures are those of that moment). Blocks of samples, waits, heap and series are passed over by their length, so a
  // file of gigabytes takes milliseconds.
  bool facts_only = false;
  // Called now and then while blocks are read, with the fraction done, 0 to 1.
  std::function<void(double)> progress = {};
  // A larger profile (estimated size in memory) is rejected. The default is enough for about 100 million
  // samples.
  std::uint64_t memory_limit_bytes = std::uint64_t{4} << 30;
};

// quality.truncated: the recording has no end mark, because fathom was killed or is still writing it.
// quality.notes: a sentence for each loss. A known number of lost samples is added to quality.lost_disk.
// Errors: kMalformed (not a recording, or invalid content), kUnsupported (newer format, too large).
Result<model::Profile> read(const std::string& path, const ReadOptions& options = {});
// The same for bytes in memory; `name` is for messages.
Result<model::Profile> read_bytes(std::span<const std::byte> bytes, const std::string& name,
                                  const ReadOptions& options = {});

// Checks the first 8 bytes.
bool is_recording(std::span<const std::byte> first_bytes);

}  // namespace fathom::store
