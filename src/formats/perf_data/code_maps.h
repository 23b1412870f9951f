// What is mapped where in one process, as its records tell in order of time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "binary/unwind/address_space.h"
#include "binary/unwind/unwinder.h"
#include "formats/perf_data/code_files.h"

namespace fathom::formats {

class CodeMaps {
 public:
  struct Mapping {
    std::uint64_t end = 0, bias = 0;
    CodeFile* code = nullptr;
  };
  // What a process of the kernel can have, and a bound for what is done for mappings of all processes of a file.
  static constexpr std::size_t kMostMappings = 65'536;

  // Replaces what was mapped there, as mmap does. False: there are too many, and it is left out.
  bool add(std::uint64_t start, std::uint64_t end, std::uint64_t offset, CodeFile* code);
  const Mapping* find(std::uint64_t address) const;
  std::size_t size() const { return mappings_.size(); }
  // Those of a parent.
  void copy_from(const CodeMaps& parent) { mappings_ = parent.mappings_; }

  // Walks a copied stack. Leaf first; nullopt: there are no tables for the code that it begins in.
  std::optional<walk_end> walk(const unwind::UnwindInput& input, std::vector<FrameAddress>& frames);

 private:
  std::optional<std::uint64_t> read_code(ProcessAddress address) const;

  std::map<std::uint64_t, Mapping> mappings_;    // by start
  std::unique_ptr<unwind::AddressSpace> space_;  // made at the first walk
  std::unique_ptr<unwind::Unwinder> unwinder_;
};

}  // namespace fathom::formats
