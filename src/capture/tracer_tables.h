// The unwind tables of one process in the memory that it shares with us, where the tracer inside searches
// them. The tracer may read at any moment; what it can reach is never changed in place (record::TableSpace).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/process_table.h"
#include "record/bpf/table_space.h"
#include "wire/heap_tracer.h"

namespace fathom::capture {

class TracerTables {
 public:
  // `memory` is all of the shared memory, `shared` its head; both outlive the tables.
  TracerTables(tracer_shared& shared, std::span<std::byte> memory);

  // Shows the tracer these mappings if they differ from those it knows. Their modules must have kept their
  // tables (ModuleCatalog: keep_tables). Returns the modules that found no room since the last call.
  std::vector<std::string> update(std::int32_t pid, std::span<const CodeMapping> mappings);

 private:
  struct Known {
    std::uint64_t start, end, bias;
    const CodeModule* module;
    bool operator==(const Known&) const = default;
  };
  std::optional<record::TableSlot> slot_of(const CodeModule& module);

  record::TableSpace space_;
  std::map<const CodeModule*, std::optional<record::TableSlot>> slots_;
  std::vector<Known> known_;
  std::vector<std::string> without_room_;
};

}  // namespace fathom::capture
