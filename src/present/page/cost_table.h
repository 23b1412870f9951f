// What each thread spent where and when: the columns that a page adds up. A cell is one name of threads and one node; its
// entries stand in order of time, so that a range of slices is a run of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/metric.h"
#include "model/profile.h"
#include "present/page/call_nodes.h"
#include "present/page/heap_shapes.h"
#include "present/page/time_slices.h"
#include "present/page/wait_rows.h"

namespace fathom::page {

struct Cell {
  std::uint32_t thread = 0;  // row of Costs::threads
  std::uint32_t node = 0;
  bool operator==(const Cell&) const = default;
};

// Values of samples and waits, in the metric's unit.
struct CostTable {
  model::Metric metric = model::Metric::kCpu;
  std::vector<Cell> cells;
  std::vector<std::uint32_t> first{0};  // of each cell's entries; one more than cells
  std::vector<std::uint32_t> slices;    // of entries
  std::vector<std::int64_t> values;
};

struct HeapEntry {
  std::int32_t slice = 0;  // -1: of the opening slice (model::is_opening), which is before all of them
  model::HeapSum allocated, freed;
};
// A cell is here a name of threads and a stack of the profile: what shrank at one must not hide what grew at another that
// has the same names. Estimates are not rounded before they are added up.
struct HeapTable {
  std::vector<Cell> cells;
  std::vector<std::uint32_t> first{0};
  std::vector<HeapEntry> entries;
  std::vector<model::HeapSum> peak;  // of cells: of the whole recording
};

// All threads of one name.
struct ThreadName {
  std::uint32_t name = 0;     // text of CallNodes
  std::uint32_t threads = 0;  // so many have it
};

// At most so many single waits are kept.
inline constexpr std::size_t kMostWaitRows = 20'000;

struct Costs {
  std::vector<ThreadName> threads;
  std::vector<std::uint32_t> thread_names;  // of each thread of the profile: row of `threads`
  std::vector<CostTable> tables;
  // Waits by what was waited for: Cell::thread is here a row of `objects`. A part of the off-cpu table: only what waits for
  // something that has a name.
  CostTable by_object;
  std::vector<ObjectNames::Row> objects;
  std::vector<WaitRow> waits;       // the longest that are not idle, in order of time
  std::uint64_t shorter_waits = 0;  // that were left out of it
  HeapTable heap;
  HeapShapes shapes;
  bool has_heap = false;
};

// A wait that spans many slices has an entry in each; how many there would be in all.
std::uint64_t wait_entries(const model::Profile& profile, const TimeSlices& slices);

// Large tables of a profile that are not read any more.
enum class Piece : std::uint8_t { kHeapRows, kSamplesAndWaits };
using LetGo = std::function<void(Piece)>;

// Of the whole recording, with the defaults of `fathom report`: idle waits by their rules, containers folded,
// without the heap tracer's time. Calls `let_go` as soon as a piece was added up.
Costs add_up_costs(const model::Profile& profile, const TimeSlices& slices, CallNodes& nodes,
                   const LetGo& let_go = {});

}  // namespace fathom::page
