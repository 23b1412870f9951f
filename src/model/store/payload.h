// The payloads of the data blocks, each with its encoder and decoder in one file: *_block.cpp. Decoders
// append to the profile; a block that cannot be decoded may leave rows with invalid ids, which repair() and
// check() handle. Their errors: kMalformed costs the block, anything else (out of memory) the file.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/cursor.h"
#include "base/result.h"
#include "base/varint.h"
#include "model/profile.h"
#include "model/store/block.h"
#include "model/store/changed_rows.h"
#include "model/store/reader.h"

namespace fathom::store {

// Replaces a lost row's id; beyond every table, so no code can take it for a row.
inline constexpr std::uint32_t kLostRow = UINT32_MAX;
// An id from the file.
inline std::uint32_t row_id(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, kLostRow));
}

// A file's budget grows with its size: runs and lost rows stand for any number of rows, so a few bytes could
// ask for all memory and all time. In the tests no recording by fathom was rejected; how close the densest
// ones come was not measured.
inline constexpr std::uint64_t kLeastMemory = 64 << 20, kMemoryPerByte = 1024;
inline constexpr std::uint64_t kLeastSteps = 16 << 20,
                               kStepsPerByte = 256;  // a step: decoding one row
// Of one stack, and of the functions inlined at one place. fathom records at most 1,150 frames.
inline constexpr std::uint32_t kMostFrames = 4096, kMostLines = 4096;

// State that a reader carries from block to block.
struct Loading {
  Loading(const ReadOptions& read_options, std::uint64_t file_size)
      : options(read_options), file_bytes(file_size) {}
  // Must come before any allocation that the file asks for.
  Result<> charge(std::uint64_t bytes);
  // For charged rows that were replaced by others.
  void give_back(std::uint64_t bytes) { memory -= std::min(memory, bytes); }
  // Must come before decoding rows, even those that are not kept.
  Result<> work(std::uint64_t steps);
  bool in_window(std::uint64_t time_ns) const {
    return (!options.from_ns || time_ns >= *options.from_ns) && (!options.to_ns || time_ns < *options.to_ns);
  }

  // A part of [start, end] is in the window.
  bool overlaps_window(std::uint64_t start_ns, std::uint64_t end_ns) const {
    return (!options.from_ns || end_ns >= *options.from_ns) && (!options.to_ns || start_ns < *options.to_ns);
  }

  ReadOptions options;
  std::uint64_t file_bytes;
  model::Profile profile;
  std::uint64_t memory = 0, steps = 0;  // charged and not yet returned; done so far
  std::vector<std::uint16_t> depths;    // by stack: frames down to the root
  bool damaged = false;                 // blocks are missing: from now on gaps between rows are expected
  std::uint64_t filtered = 0;           // samples outside the window
  std::uint64_t filtered_waits = 0;
};

// --- tables: append-only rows ---
struct TableSizes {
  // Row 0 is never written.
  std::uint32_t strings = 1, functions = 0, lines = 0, frames = 0, stacks = 1, objects = 1;
  bool operator==(const TableSizes&) const = default;
};
TableSizes sizes_of(const model::Profile& profile);
// The end of the rows starting at `from` that fit into one block.
Result<TableSizes> next_slice(const model::Profile& profile, const TableSizes& from, const TableSizes& end);
// `named`: frames written earlier that have since got their lines, ascending, at most kMaxRows.
Bytes encode_tables(const model::Profile& profile, const TableSizes& from, const TableSizes& to,
                    std::span<const std::uint32_t> named);
Result<> decode_tables(Cursor in, Loading& loading);

// --- state: rows and facts that change ---
// The written state, so that only changes are written again. Default: only the rows 0.
struct StateCopy {
  struct SeriesHead {
    model::StringId name, unit;
    std::int32_t pid = 0;
    bool operator==(const SeriesHead&) const = default;
  };
  model::Meta meta;
  std::vector<model::Module> modules = std::vector<model::Module>(1);
  std::vector<model::Process> processes;
  std::vector<model::Thread> threads;
  std::vector<SeriesHead> series;
  model::Quality quality;
};
// The payloads of the blocks: none if nothing has changed, several only for very many rows. `changed`: the
// rows of processes and threads to write; null: those that differ from the written state.
Result<std::vector<Bytes>> encode_state(const model::Profile& profile, const StateCopy& written,
                                        const ChangedRows* changed = nullptr);
// With `changed`, processes and threads are not copied.
void remember_state(const model::Profile& profile, StateCopy& written, bool changes_are_told = false);
Result<> decode_state(Cursor in, Loading& loading);

// --- samples ---
// Predicts a sample from its predecessors, in the same way for writing and reading. A CPU samples at a fixed
// period, runs one thread for many samples, and a thread often stays on the same stack: the file contains the
// difference.
class SamplePredictor {
 public:
  static constexpr std::uint32_t kMaxThread = 1u << 22;  // PID_MAX_LIMIT of Linux
  void start(std::uint64_t base_ns);                     // blocks are independent of each other

  struct Lane {
    std::uint64_t time_ns = 0;
    std::uint32_t thread = kLostRow;
    std::uint32_t block = 0;
  };
  // For CPU samples, one lane per CPU; for others, one per metric.
  Lane& lane(model::Metric metric, std::uint16_t cpu);
  std::uint32_t& last_stack(std::uint32_t thread);  // thread < kMaxThread

 private:
  struct Last {
    std::uint32_t stack = kLostRow;
    std::uint32_t block = 0;
  };
  std::uint32_t block_ = 0;  // lanes of earlier blocks are stale; cheaper than clearing 65536 of them
  std::uint64_t base_ns_ = 0;
  std::vector<Lane> cpus_;
  std::array<Lane, 256> metrics_;
  std::vector<Last> threads_;
};
// At most kMaxRows samples, of threads below kMaxThread. `frequency_hz`: 0 if there is no fixed period.
Bytes encode_samples(std::span<const model::Sample> samples, std::uint32_t frequency_hz,
                     SamplePredictor& predictor);
Result<> decode_samples(Cursor in, std::uint32_t rows, SamplePredictor& predictor, Loading& loading);

// --- waits ---
// The time at which the thread had a CPU again.
std::uint64_t end_of(const model::Wait& wait);
// At most kMaxRows waits, with ends that fit into 64 bits.
Bytes encode_waits(std::span<const model::Wait> waits);
// Keeps the part of each wait that lies in the window of `loading`.
Result<> decode_waits(Cursor in, std::uint32_t rows, Loading& loading);

// --- heap ---
// The written part of it. Rows count as new every time.
struct HeapCopy {
  std::vector<model::Heap> heaps;
  // By section: the rows of a table that grows, and a fingerprint of one that is replaced, which is 0 if it is empty. Row 0 of the
  // allocators (section 2) is never written.
  std::array<std::uint64_t, 16> sections = {0, 0, 1};
};
HeapCopy copy_of(const model::HeapTables& heap);
std::vector<Bytes> encode_heap(const model::HeapTables& heap, const HeapCopy& written);
// The whole heap, for any window: live memory at one time depends on everything before it.
Result<> decode_heap(Cursor in, Loading& loading);

// --- lifetimes of single heap blocks ---
// At most kMaxRows; their sites are in `heap`. Decoding returns them in allocation order.
Bytes encode_lives(std::span<const model::HeapBlock> blocks, const model::HeapTables& heap);
LivesHints hints_of(std::span<const model::HeapBlock> blocks);
// The block after a round trip through the file: lifetimes are rounded down by less than 1.6 %.
model::HeapBlock as_stored(model::HeapBlock block);
// State per site while one block is decoded; reused for the next, because there may be many sites and few
// rows.
struct LivesOfSites {
  struct Predecessor {
    std::uint64_t size = 0, address = 0;
    bool used = false;
  };
  std::vector<Predecessor> sites;
  std::vector<std::uint32_t> used;
};
// Leaves out blocks of other sizes before they are put together, and counts them.
struct LivesOfSize {
  std::uint64_t least = 0, most = UINT64_MAX;
  std::span<const std::uint32_t> slices;  // by site: the slices of its heap
  double left_out =
      0;  // blocks of the program, without those that were allocated in a slice that is not there

  // With its site, size, first slice and mean.
  bool takes(const model::HeapBlock& block) {
    if (block.size >= least && block.size <= most) return true;
    if (block.first_slice < slices[block.site.value])
      left_out += block.mean_bytes == 0 ? 1 : model::weight_of(block).sum.blocks;
    return false;
  }
};
// Replaces `out`. Sites are in `heap`; threads and slices are the file's claim. May run in several threads,
// each with its own `known` and `wanted`; without `wanted`, all are decoded.
Result<> decode_lives(Cursor in, std::uint32_t rows, const model::HeapTables& heap, LivesOfSites& known,
                      std::vector<model::HeapBlock>& out, LivesOfSize* wanted = nullptr);
// What can be said of them without a look at each: for who wants only those that are live at the end, which are few.
struct LivesGlance {
  std::uint64_t blocks = 0;  // that were allocated in a slice before `slices`
  bool any_live = false;     // at the end of these slices
  bool any_sampled = false;  // some stand for several
};
Result<LivesGlance> glance_at_lives(Cursor in, std::uint32_t rows, std::size_t slices);

// --- page faults ---
Bytes encode_faults(std::span<const model::Fault> faults);  // at most kMaxRows
// Keeps those in the window of `loading`.
Result<> decode_faults(Cursor in, std::uint32_t rows, Loading& loading);

// --- calls of chosen functions ---
Bytes encode_calls(std::span<const model::Calls> calls);  // at most kMaxRows
// Keeps those in the window of `loading`.
Result<> decode_calls(Cursor in, std::uint32_t rows, Loading& loading);

// --- spans ---
// At most kMaxRows, with ends that are not before their starts.
Bytes encode_spans(std::span<const model::Span> spans);
// Keeps those that overlap the window of `loading`, whole.
Result<> decode_spans(Cursor in, std::uint32_t rows, Loading& loading);

// --- composition of memory ---
Bytes encode_memory(std::span<const model::MemoryRange> ranges);  // at most kMaxRows
// All of them, for any window: the composition at its end may be older than its start.
Result<> decode_memory(Cursor in, std::uint32_t rows, Loading& loading);

// --- points of series ---
// As many points of all series starting at `from` (series and point) as fit into one block; advances `from`.
struct PointPosition {
  std::size_t series = 0, point = 0;
};
Bytes encode_points(const model::Profile& profile, PointPosition& from);
Result<> decode_points(Cursor in, Loading& loading);

// --- index: the place of each block, and the time ranges of blocks of samples and waits ---
struct IndexEntry {
  std::uint32_t type = 0, rows = 0;
  std::uint64_t offset = 0;
  std::uint64_t first_ns = 0, last_ns = 0;  // smallest and largest time, of samples; for waits, of starts and
                                            // ends
};
Bytes encode_index(std::span<const IndexEntry> entries);  // at most kMaxRows
Result<> decode_index(Cursor in, Loading& loading, std::vector<IndexEntry>& out);

struct EndMark {
  std::uint64_t index_offset = 0, blocks = 0, samples = 0;
};
Bytes encode_end(const EndMark& end);
EndMark decode_end(Cursor in);  // zeros if it is cut off

// Repairs a profile that lacks blocks: references to lost rows then refer to empty ones. The result passes
// check() if the existing blocks are valid.
void repair(model::Profile& profile);

}  // namespace fathom::store
