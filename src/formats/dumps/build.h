// Turns dumps into the heap of a profile. One dump is the live memory at one moment; the dumps of one process
// in order are a heap over time, with one slice between each two of them. Each pair is unbiased before the
// sums; threads share the values of their stack's row, because their own rows do not add up to it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/dumps/instances.h"
#include "formats/dumps/modules.h"
#include "model/profile.h"

namespace fathom::dumps {

// How the dumps of one process become one heap.
enum class Shape {
  kSnapshot,  // the last of `dumps`, as one slice
  kSeries,    // each dump ends a slice; the first slice contains everything before it
  kMean,      // average live memory; allocations are unknown
};

// Entries of meta.facts in such a profile, for the code that writes sentences.
// The path from which results get their names unless the user gives one: the dump used, or the common part of
// several.
inline constexpr const char* kResultName = "result name";
inline constexpr const char* kHeapSource = "heap source";        // "dump": one moment, "dumps": several
inline constexpr const char* kHeapAllocated = "heap allocated";  // "not counted": the dumps do not count
                                                                 // allocations

class ProfileBuilder {
 public:
  explicit ProfileBuilder(FilesByName files);
  // Adds a process with its heap. At least one dump.
  void add(const Instance& instance, std::span<const DumpFile* const> dumps, Shape shape);
  // Complete except for names; it has passed check(), as far as the bytes of a malicious dump allow.
  Result<model::Profile> finish();

 private:
  friend class HeapBuilder;
  model::Profile profile_;
  model::Builder builder_;
  Modules modules_;
};

}  // namespace fathom::dumps
