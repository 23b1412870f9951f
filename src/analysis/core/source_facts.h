// What the sources say about functions, by name: where they stand, and whether they are the program's own code.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/core/own_code.h"
#include "model/profile.h"

namespace fathom::analysis {

struct SourcePlace {
  std::string file;        // without folders; empty if unknown
  std::uint32_t line = 0;  // of most samples; 0 if unknown
  bool operator==(const SourcePlace&) const = default;
};

// `text`, or what stands behind its last "/".
std::string_view base_name(std::string_view path);

// Of the frames that have a weight. `profile` outlives it.
class SourceFacts {
 public:
  // A weight for each frame of the profile, with what is called from there; those of 0 and less are left out.
  SourceFacts(const model::Profile& profile, const std::vector<std::int64_t>& frame_weights);
  // Where most of the function's weight is.
  SourcePlace place_of(std::string_view name) const;
  bool is_own(std::string_view name) const { return own_names_.contains(name); }
  // Of one line of a frame, 0 being the innermost; also of lines without weight.
  bool is_own(model::FrameId frame, std::uint32_t line);

 private:
  void add(model::FrameId frame, std::int64_t weight);

  const model::Profile& profile_;
  OwnCode own_code_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> own_;  // function and file
  std::set<std::string, std::less<>> own_names_;
  std::map<std::string_view, std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t>> lines_;
};

// What each frame weighs where each stack weighs `leaves` without what is called from there. A frame that stands on a
// stack several times counts as often, so sums are cut at what 64 bits hold.
std::vector<std::int64_t> frame_weights_of(const model::Profile& profile, std::vector<std::int64_t> leaves);

}  // namespace fathom::analysis
