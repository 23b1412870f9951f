// jemalloc's page tree as it lies in memory: visiting all extents in ascending order, from a root (jemalloc_roots.h). What
// the extents add up to is jemalloc_state.h. Pure over PresentMemory.
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

// Blocks of memory that jemalloc has for its own records. They begin at multiples of 2 MiB, carry their size and are
// chained.
class MetadataBlocks {
 public:
  MetadataBlocks(PresentMemory& memory, const ProcessMap& map) : memory_(memory), map_(map) {}
  // Finds the block of something that lies in one, and all that it is chained to.
  void add_block_of(std::uint64_t address);
  struct Block {
    std::uint64_t size = 0, used = 0;
  };
  const std::map<std::uint64_t, Block>& blocks() const { return blocks_; }  // by address

 private:
  bool add(std::uint64_t address);  // with its chain
  bool knows(std::uint64_t address) const;
  PresentMemory& memory_;
  const ProcessMap& map_;
  std::map<std::uint64_t, Block> blocks_;
  std::uint64_t tries_ = 0;
};

struct WalkResult {
  bool is_tree = false;            // the root leads to leaves and nothing else
  const Layout* layout = nullptr;  // null: the records agree with none
  std::uint64_t extents = 0;
  std::uint64_t moved = 0, moved_bytes = 0;  // records that did not agree, and how much they can stand for
  std::uint64_t first_bad = 0;               // address of the first such record, for the message
  bool cut = false;                          // stopped early: there was too much of it
};
// `visit` gets each extent once, ascending and not overlapping.
WalkResult walk(PresentMemory& memory, const ProcessMap& map, const Root& root, MetadataBlocks& metadata,
                const std::function<void(const Extent&)>& visit);

}  // namespace fathom::allocators::jemalloc
