// What the sources say about functions, by module and name: where they stand, and whether they are the program's own code.
// Two modules may have functions of one name.
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
  std::string path = {};   // the file with its folders, as the compiler wrote it
  bool operator==(const SourcePlace&) const = default;
};

// Of the frames that have a weight. `profile` outlives it.
class SourceFacts {
 public:
  // A weight for each frame of the profile, with what is called from there; those of 0 and less are left out.
  SourceFacts(const model::Profile& profile, const std::vector<std::int64_t>& frame_weights);
  // Where most of the function's weight is. `module`: its name.
  SourcePlace place_of(std::string_view module, std::string_view name) const;
  // The same for any module with such a function, to compare recordings whose modules have other names.
  SourcePlace place_of(std::string_view name) const;
  bool is_own(std::string_view module, std::string_view name) const {
    return own_names_.contains({module, name});
  }
  // It belongs to its caller (OwnCode::is_linked_code).
  bool is_linked_code(std::string_view module, std::string_view name) const {
    return linked_names_.contains({module, name});
  }
  // Of one line of a frame, 0 being the innermost; also of lines without weight.
  bool is_own(model::FrameId frame, std::uint32_t line);

 private:
  void add(model::FrameId frame, std::int64_t weight);

  const model::Profile& profile_;
  OwnCode own_code_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> own_;  // function and file
  using Key = std::pair<std::string_view, std::string_view>;  // module and function, of the profile's strings
  using Lines = std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t>;
  SourcePlace most_of(const Lines& lines) const;
  std::set<std::string> made_names_;  // of frames without a function
  std::set<Key> own_names_, linked_names_;
  std::map<Key, Lines> lines_;
};

// What each frame weighs where each stack weighs `weights`: without what is called from there before, and with it afterwards. A
// frame that stands on a stack several times counts as often, so sums are cut at what 64 bits hold.
std::vector<std::int64_t> frame_weights_of(const model::Profile& profile, std::vector<std::int64_t>& weights);

}  // namespace fathom::analysis
