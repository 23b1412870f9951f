// What the values of a file of pprof are: their types under the names that servers know, which of them opens first, and the period.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/core/heap.h"
#include "model/profile.h"
#include "present/exports/pprof_writer.h"

namespace fathom::present {

struct PprofType {
  std::string name, unit;
};

struct PprofKind {
  std::vector<PprofType> types;  // viewers open the last one, except for those that read `opens`
  std::string opens;             // the name of one of them
  std::optional<PprofType> period_type = {};
  std::int64_t period = 0;
  bool moment = false;  // amounts of the end, and not of a stretch of time
};

PprofKind pprof_kind_of_time(const model::Profile& profile, const PprofOptions& options);

// A sum of blocks and one of bytes for each call site: two types, NAME_objects and NAME_space. A column may be all zeros.
struct PprofHeapColumn {
  std::string_view name;  // "alloc"
  analysis::HeapAmounts (*amounts)(const analysis::HeapSums&, model::HeapSiteId);
};

// At least one.
std::vector<PprofHeapColumn> pprof_heap_columns(const model::Profile& profile, const PprofOptions& options);
PprofKind pprof_kind_of_heap(const model::Profile& profile, const PprofOptions& options,
                             std::span<const PprofHeapColumn> columns);

}  // namespace fathom::present
