// The executable mappings of one process with their unwind tables: the lookup structure for stack walks. Fed
// from /proc/PID/maps and from mapping events, in their order: a new mapping replaces whatever it covers, as
// mmap does. Not for concurrent change; walks may share it while nothing changes it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/abi/unwind_table.h"
#include "base/address.h"
#include "binary/unwind/table.h"

namespace fathom::unwind {

class AddressSpace {
 public:
  // [start, end) is executable now. `load_bias` is process address minus ELF address. No table: code made at
  // run time, or a file that could not be read; walks go by the frame pointer there. Empty ranges are
  // ignored.
  void add(ProcessAddress start, ProcessAddress end, std::uint64_t load_bias,
           std::shared_ptr<const Table> table);
  void remove(ProcessAddress start, ProcessAddress end);
  void clear();

  // Sorted, disjoint. Pages are numbered from 0 in each mapping's own table.
  std::span<const unwind_mapping> mappings() const { return mappings_; }
  // Of mappings()[index]; null if it has none.
  const Table* table(std::size_t index) const { return tables_[index].get(); }
  // Null if no mapping holds the address.
  const unwind_mapping* find(ProcessAddress address) const;

 private:
  std::vector<unwind_mapping> mappings_;
  std::vector<std::shared_ptr<const Table>> tables_;  // of the mapping with the same index
};

}  // namespace fathom::unwind
