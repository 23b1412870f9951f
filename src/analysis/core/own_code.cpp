#include "analysis/core/own_code.h"

#include <algorithm>
#include <array>

#include "analysis/core/code_owner.h"
#include "analysis/core/runtimes.h"
#include "model/main_crate.h"

namespace fathom::analysis {
namespace {

using namespace model;

constexpr std::array<std::string_view, 7> kSystemFolders = {"/usr/lib", "/lib/",  "/lib64/", "/usr/lib64",
                                                            "/nix/",    "/snap/", "/opt/"};
constexpr std::array<std::string_view, 8> kEngineNames = {
    "Builtin:", "Stub:",   "BytecodeHandler:", "LoadIC:",
    "CallIC:",  "RegExp:", "frame_dummy",      "register_tm_clones"};

bool any_start(const auto& starts, std::string_view text) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](std::string_view start) { return text.starts_with(start); });
}

}  // namespace

OwnCode::OwnCode(const Profile& profile) : profile_(profile), own_modules_(profile.modules.size()) {
  std::set<std::string_view> executables;
  for (const Process& process : profile.processes)
    if (const std::string_view path = profile.strings[process.executable]; !path.empty())
      executables.insert(path);
  for (std::size_t i = 0; i < own_modules_.size(); ++i) {
    const Module& module = profile.modules[i];
    const std::string_view path = profile.strings[module.path];
    if (profile.strings[module.name].starts_with("[fathom")) continue;  // the tracer
    own_modules_[i] = module.kind == ModuleKind::kNames || module.kind == ModuleKind::kAnonymous ||
                      (module.kind == ModuleKind::kFile &&
                       (executables.contains(path) || !any_start(kSystemFolders, path)));
  }
  find_own_crates(executables);
}

// A Rust program's own crate is that of its main(), which a recording knows from the file, and crates like my_node_core belong
// to it. Without that fact it has the file's name: "my-node" is made from my_node. Neither depends on the samples. Only if no
// function of this crate is known, as in a renamed file, "other::main" gives the crate; and if that was not sampled either,
// nothing with a crate counts as own.
void OwnCode::find_own_crates(const std::set<std::string_view>& executables) {
  for (const std::string_view path : executables)
    if (const auto fact = profile_.meta.facts.find(main_crate_fact(path));
        fact != profile_.meta.facts.end() && !fact->second.empty())
      own_crates_.insert(fact->second);
  if (!own_crates_.empty()) return;
  std::set<std::string, std::less<>> by_file, by_main, unknown;
  bool is_rust = false;
  std::set<std::string, std::less<>> seen;
  for (const Function& function : profile_.functions) {
    const Module& module = profile_.modules[function.module.value];
    const std::string_view path = profile_.strings[module.path];
    if (module.kind == ModuleKind::kFile && !executables.empty() && !executables.contains(path)) continue;
    const std::string_view name = profile_.strings[function.name];
    const std::string_view crate = namespace_of(name);
    is_rust |=
        crate == "core" || crate == "alloc" || (name.starts_with('<') && name.find(" as ") != name.npos);
    if (!crate.empty()) seen.emplace(crate);
    constexpr std::string_view kMain = "::main";
    if (!name.ends_with(kMain)) continue;
    const std::string_view of = name.substr(0, name.size() - kMain.size());
    if (!of.empty() && of.find_first_of(":<( ") == of.npos) by_main.emplace(of);
  }
  for (const std::string_view path : executables) {
    std::string crate(path.substr(path.rfind('/') + 1));
    // Cargo calls tests after their crate and a hash: "my_node-0123456789abcdef".
    constexpr std::size_t kHash = 16;
    if (crate.size() > kHash + 1 && crate[crate.size() - kHash - 1] == '-' &&
        crate.find_first_not_of("0123456789abcdef", crate.size() - kHash) == crate.npos)
      crate.resize(crate.size() - kHash - 1);
    std::ranges::replace(crate, '-', '_');
    const bool known = std::ranges::any_of(seen, [&](const std::string& each) {
      return each.starts_with(crate) && (each.size() == crate.size() || each[crate.size()] == '_');
    });
    if (is_rust && !known && by_main.empty()) unknown.insert(crate);
    if (known && (is_rust || by_main.contains(crate))) by_file.insert(std::move(crate));
  }
  if (by_file.empty() && by_main.empty()) by_file = std::move(unknown);
  own_crates_ = by_file.empty() ? std::move(by_main) : std::move(by_file);
}

bool OwnCode::is_own(std::string_view name, ModuleId module, std::string_view file) const {
  const Module& of = profile_.modules[module.value];
  if (own_modules_[module.value] == 0) return false;
  const RuntimeRules& runtimes = built_in_runtime_rules();
  if (!file.empty() && runtimes.has_source(file)) return false;
  TreeNode node;
  node.kind = NodeKind::kUser;
  TreeModule tree_module;
  tree_module.name = profile_.strings[of.name];
  tree_module.kind = of.kind;
  const Owner owner = owner_of(node, name, tree_module);
  if (owner == Owner::kGenerated) return !any_start(kEngineNames, name);
  if (owner != Owner::kCode || any_start(kEngineNames, name) || name.empty() || name[0] == '[') return false;
  const std::string_view crate = namespace_of(name);
  // C code that a Rust program links in has no crate.
  const bool of_own_crate = std::any_of(own_crates_.begin(), own_crates_.end(), [&](const std::string& own) {
    return crate.starts_with(own) && (crate.size() == own.size() || crate[own.size()] == '_');
  });
  if (of_own_crate) return true;
  if (is_runtime(name, module)) return false;
  if (crate.empty() && !own_crates_.empty()) return name == "main";
  return !file.empty() || own_crates_.empty();
}

bool OwnCode::is_linked_code(std::string_view name, ModuleId module) const {
  return !own_crates_.empty() && own_modules_[module.value] != 0 && !name.empty() && name[0] != '[' &&
         profile_.modules[module.value].kind == ModuleKind::kFile && namespace_of(name).empty() &&
         !is_runtime(name, module);
}

bool OwnCode::is_library(ModuleId module) const {
  const Module& of = profile_.modules[module.value];
  return of.kind == ModuleKind::kVdso || built_in_runtime_rules().has_module(profile_.strings[of.name]);
}

bool OwnCode::is_runtime(std::string_view name, ModuleId module) const {
  return is_library(module) || built_in_runtime_rules().has_function(name);
}

}  // namespace fathom::analysis
