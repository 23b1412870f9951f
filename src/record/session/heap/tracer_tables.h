// The unwind tables of one process in the memory that it shares with us, where the tracer inside searches
// them. The tracer may read at any moment; what it can reach is never changed in place (sources::TableSpace).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/abi/heap_tracer.h"
#include "record/bpf/table_space.h"
#include "record/session/heap/code_history.h"
#include "record/session/tracking/process_table.h"

namespace fathom::session {

class TracerTables {
 public:
  // `layout`: where they stand, as the profiler planned it, and not as the shared memory says, which the
  // target can write to. `memory` is all of the shared memory and outlives the tables; it is written only.
  TracerTables(const tracer_shared& layout, std::span<std::byte> memory);
  TracerTables(const TracerTables&) = delete;
  TracerTables& operator=(const TracerTables&) = delete;

  // Shows the tracer these mappings if they differ from those it knows. Their modules must have kept their
  // tables (ModuleCatalog: keep_tables). Returns the modules that found no room since the last call.
  std::vector<std::string> update(std::int32_t pid, std::span<const CodeMapping> mappings);

 private:
  struct Known {
    std::uint64_t start, end, bias;
    const CodeModule* module;
    bool operator==(const Known&) const = default;
  };
  std::optional<sources::TableSlot> slot_of(const CodeModule& module);

  std::uint32_t epoch_ = 0;
  CodeHistory history_;
  sources::TableSpace space_;
  std::map<const CodeModule*, std::optional<sources::TableSlot>> slots_;
  std::vector<Known> known_;
  std::vector<std::string> without_room_;
};

}  // namespace fathom::session
