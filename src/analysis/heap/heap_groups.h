// The heap by what it is grouped by: flat what a group asked for itself, cumulative what was asked for below
// it, with rates and 95 % intervals. Data; present/text/text_heap_groups.h and the JSON write it down.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/core/heap.h"

namespace fathom::analysis {

enum class HeapGrouping : std::uint8_t {
  kStack,
  kFunction,
  kModule,
  kCrate,   // crate of Rust, outermost namespace of C++ (code_name.h); the module for functions in none
  kThread,  // by name
  kSize,
  kAllocator,
};
// "stack", "function", ...: what users type.
std::string_view to_string(HeapGrouping grouping);
std::optional<HeapGrouping> heap_grouping_from(std::string_view name);

struct HeapGroupRow {
  std::string name;
  std::string module;              // of functions only
  std::vector<std::string> stack;  // of stacks: functions, leaf first; then `name` is the leaf
  HeapAmount flat;                 // of the metric, in its unit
  // With what was asked for below it, each stack once; of functions, modules and crates. Else the same as
  // flat.
  HeapAmount cumulative;
  // What the sites of `flat` did inside of the window.
  HeapAmounts allocated, freed;
  // Freed by their thread before it allocated again (exact recordings only), and within 1 ms.
  model::HeapSum temporary, short_lived;
  std::uint64_t sites = 0;
};

struct HeapGroups {
  HeapGrouping by = HeapGrouping::kFunction;
  model::Metric metric = model::Metric::kHeapLive;
  bool blocks = false;  // the unit of flat and cumulative; else bytes
  bool has_cumulative = false;
  bool sampled = false;   // then `temporary` is unknown
  bool by_total = false;  // the order
  double window_s = 0;    // rates are sums divided by it
  HeapAmount total;       // of flat
  // What shares refer to: the total, but for growth that of the groups that grew.
  double whole = 0;
  // kSize: blocks of stacks that ask for several sizes were shared out as those sizes are over all of time.
  bool estimated = false;
  std::vector<HeapGroupRow> rows;  // most first
};

struct HeapGroupOptions {
  Selection selection = {};  // a heap metric
  HeapGrouping by = HeapGrouping::kFunction;
  bool by_total = false;  // sorted by `cumulative`
  bool fold_generics = false;
};

// Time: one visit per row of the heap, and one per frame of the stacks that have a value.
HeapGroups group_heap(const model::Profile& profile, const HeapGroupOptions& options);

// Key "heap_groups". At most `top` rows; 0: all.
void add_heap_groups(nlohmann::ordered_json& json, const HeapGroups& groups, std::size_t top);

}  // namespace fathom::analysis
