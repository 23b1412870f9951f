#include "analysis/diff/module_keys.h"

#include <algorithm>

#include "analysis/diff/stable_name.h"
#include "model/facts.h"

namespace fathom::analysis {
namespace {

// The vdso is in no file and has no build id; each kernel has its own.
std::string build_of(const model::Profile& profile, const model::Module& module) {
  const std::string_view id = profile.strings[module.build_id];
  return id.empty() && module.kind == model::ModuleKind::kVdso
             ? model::facts_of<model::OriginFacts>(profile.meta).kernel
             : std::string(id);
}

}  // namespace

ModuleKeys::ModuleKeys(const std::vector<UnionRun>& runs) {
  for (const UnionRun& run : runs) {
    if (run.profile->meta.engine == "import") names_only_ = true;
  }
  for (const UnionRun& run : runs) {
    const model::Profile& profile = *run.profile;
    for (const model::Module& module : profile.modules) {
      TreeModule row;
      row.name = profile.strings[module.name];
      row.path = profile.strings[module.path];
      row.kind = module.kind;
      builds_[key_of(profile, row)].insert(build_of(profile, module));
    }
  }
  for (const UnionRun& run : runs) find_codes(run);
  name_codes();
}

std::string ModuleKeys::key_of(const model::Profile& profile, const TreeModule& module) const {
  if (module.name == kCauseModule) return module.name;
  // Text of other tools contains a function's name without a file, or with another name for it.
  if (names_only_) return "";
  if (module.kind == model::ModuleKind::kFile && !profile.processes.empty() &&
      profile.strings[profile.processes.front().executable] == module.path && !module.path.empty())
    return std::string(kProgram);
  return stable_module(module.name);
}

bool ModuleKeys::is_one_build(const std::string& key) const {
  const auto found = builds_.find(key);
  return found != builds_.end() && found->second.size() == 1 && !found->second.begin()->empty();
}

const std::string* ModuleKeys::name_of_code(const std::string& key, std::uint64_t code) const {
  const auto found = names_.find({key, code});
  return code == 0 || found == names_.end() ? nullptr : &found->second;
}

void ModuleKeys::find_codes(const UnionRun& run) {
  const model::Profile& profile = *run.profile;
  const std::size_t count = std::min(run.codes.size(), profile.functions.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (run.codes[i] == 0) continue;
    const model::Module& module = profile.modules[profile.functions[i].module.value];
    TreeModule row;
    row.name = profile.strings[module.name];
    row.path = profile.strings[module.path];
    row.kind = module.kind;
    functions_[{key_of(profile, row), run.codes[i]}][std::string(profile.strings[module.build_id])].insert(
        std::string(profile.strings[profile.functions[i].name]));
    first_build_.try_emplace(key_of(profile, row), profile.strings[module.build_id]);
  }
}

// Two functions of one build that only differ in addresses cannot be told apart, so they match none.
void ModuleKeys::name_codes() {
  for (const auto& [code, builds] : functions_) {
    if (builds.size() != builds_[code.first].size()) continue;
    const bool alone =
        std::all_of(builds.begin(), builds.end(), [](const auto& build) { return build.second.size() == 1; });
    if (!alone || builds.contains("")) continue;
    // Every build has it, so the first build has it too, and no other function there has this name.
    names_.emplace(code, *builds.at(first_build_.at(code.first)).begin());
  }
}

}  // namespace fathom::analysis
