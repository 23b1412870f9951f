// The probes of a program that samples its own heap: otel_memory:alloc(pointer, size, weight) for each
// sampled block, otel_memory:free(pointer) for each of these that is freed. Source: OpenTelemetry eBPF
// profiler, design document 00003.
#pragma once

#include <string>

#include "base/result.h"
#include "binary/elf/elf_file.h"
#include "binary/probes/usdt.h"

namespace fathom::probes {

inline constexpr const char* kHeapProvider = "otel_memory";

// Of one file.
struct HeapProbes {
  // Probes with readable values. Either may be empty: another file of the program may report the frees, or
  // none does.
  std::vector<UsdtPlace> allocs, frees;
  std::vector<std::string> problems;  // of places that are left out
  bool empty() const { return allocs.empty() && frees.empty(); }
};

// kMalformed where the notes are. A file without these probes has none, and no problem.
Result<HeapProbes> find_heap_probes(const elf::ElfFile& file);

// "alloc at 2 places, free at 1".
std::string text_of(const HeapProbes& probes);

}  // namespace fathom::probes
