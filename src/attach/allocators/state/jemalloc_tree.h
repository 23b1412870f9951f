// jemalloc's page tree in memory: visits all extents in ascending order, starting from a root
// (jemalloc_roots.h). jemalloc_state.h adds the extents up. Pure over PresentMemory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "attach/allocators/state/jemalloc_layout.h"
#include "attach/allocators/state/jemalloc_roots.h"
#include "attach/allocators/state/present_memory.h"
#include "attach/allocators/state/process_map.h"

namespace fathom::allocators::jemalloc {

// Blocks of memory for jemalloc's own records. They begin at multiples of 2 MiB, contain their size and are
// chained.
class MetadataBlocks {
 public:
  MetadataBlocks(PresentMemory& memory, const ProcessMap& map) : memory_(memory), map_(map) {}
  // Finds the block that contains this address, and all blocks chained to it.
  void add_block_of(std::uint64_t address);
  struct Block {
    std::uint64_t size = 0, used = 0;
  };
  const std::map<std::uint64_t, Block>& blocks() const { return blocks_; }  // by address

 private:
  bool add(std::uint64_t address);  // including its chain
  bool knows(std::uint64_t address) const;
  PresentMemory& memory_;
  const ProcessMap& map_;
  std::map<std::uint64_t, Block> blocks_;
  std::uint64_t tries_ = 0;
};

struct WalkResult {
  bool is_tree = false;            // the root leads only to leaves
  const Layout* layout = nullptr;  // null: the records fit none
  std::uint64_t extents = 0;
  std::uint64_t moved = 0, moved_bytes = 0;  // inconsistent records, and the maximum memory they can stand
                                             // for
  std::uint64_t first_bad = 0;               // address of the first one, for the message
  bool cut = false;                          // stopped early: there was too much to read
};
// Calls `visit` once per extent, ascending and without overlap.
WalkResult walk(PresentMemory& memory, const ProcessMap& map, const Root& root, MetadataBlocks& metadata,
                const std::function<void(const Extent&)>& visit);

}  // namespace fathom::allocators::jemalloc
