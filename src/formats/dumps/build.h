// Dumps as the heap of a profile. One dump is what was live at one moment; dumps of one process in their order are a
// heap over time, with a slice for what happened between two of them. Everything is estimated pair by pair before it is
// added up; threads share what their stack's row says, as their own rows do not add up to it.
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
  kSnapshot,  // of the last of `dumps`, one slice
  kSeries,    // each is the end of a slice; the first slice holds all that was before it
  kMean,      // what was live on average; nothing is known of what was allocated
};

// meta.facts of such a profile, for whoever words it.
// The path that results are named after unless the user names them: of the dump that was used, or what several have in common.
inline constexpr const char* kResultName = "result name";
inline constexpr const char* kHeapSource = "heap source";        // "dump": one moment, "dumps": several
inline constexpr const char* kHeapAllocated = "heap allocated";  // "not counted": the dumps say nothing of it

class ProfileBuilder {
 public:
  explicit ProfileBuilder(FilesByName files);
  // Adds a process with its heap. At least one dump.
  void add(const Instance& instance, std::span<const DumpFile* const> dumps, Shape shape);
  // Complete but for names; it has passed check(), as far as bytes of hostile dumps can make one that does not.
  Result<model::Profile> finish();

 private:
  friend class HeapBuilder;
  model::Profile profile_;
  model::Builder builder_;
  Modules modules_;
};

}  // namespace fathom::dumps
