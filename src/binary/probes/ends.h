// The ends of one function of a file. Private to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/arch/common/function_ends.h"
#include "binary/elf/elf_file.h"
#include "binary/unwind/table.h"

namespace fathom::probes {

using Bounds = std::pair<ElfAddress, std::uint64_t>;  // start, bytes

class Ends {
 public:
  // Both outlive it; `table` may be null.
  Ends(const elf::ElfFile& file, const unwind::Table* table) : file_(file), table_(table) {}

  // `pieces`: the function, and its named pieces. Unnamed pieces are found by the unwind table: code that
  // starts inside a frame is not a function of its own.
  arch::FunctionEnds of(std::vector<Bounds> pieces);

 private:
  const unwind::Table& table();
  bool begins_like(ElfAddress address, ElfAddress entry);
  std::optional<Bounds> bounds_around(ElfAddress address);
  bool add_nameless_pieces(const arch::FunctionEnds& found, std::vector<Bounds>& pieces);

  const elf::ElfFile& file_;
  const unwind::Table* table_;
  std::optional<unwind::Table> own_table_;
  std::vector<Bounds> bounds_;
};

}  // namespace fathom::probes
