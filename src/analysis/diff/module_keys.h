// Which modules of several recordings are the same one: by name, whatever their builds.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/core/call_tree.h"
#include "analysis/diff/union_tree.h"
#include "model/profile.h"

namespace fathom::analysis {

inline constexpr std::string_view kProgram = "[program]";  // the key of the program itself, for any file name

// A module's common name in all runs, and whether its addresses mean the same in all of them.
class ModuleKeys {
 public:
  explicit ModuleKeys(const std::vector<UnionRun>& runs);

  // "": modules are not distinguished.
  std::string key_of(const model::Profile& profile, const TreeModule& module) const;
  // One file: an address means the same code everywhere.
  bool is_one_build(const std::string& key) const;
  // The common name of a nameless function in all builds of its module; null unless each build has exactly
  // one function with this code.
  const std::string* name_of_code(const std::string& key, std::uint64_t code) const;

 private:
  using Code = std::pair<std::string, std::uint64_t>;  // in the module with this key

  void find_codes(const UnionRun& run);
  void name_codes();

  std::map<std::string, std::set<std::string>> builds_;
  std::map<Code, std::map<std::string, std::set<std::string>>> functions_;  // their names, by build
  std::map<std::string, std::string> first_build_;  // by module: the build in the first run
  std::map<Code, std::string> names_;
  bool names_only_ = false;
};

}  // namespace fathom::analysis
