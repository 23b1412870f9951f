// For tests only: call trees from a few lines of folded text, and a check that text is well-formed XML.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/core/call_tree.h"
#include "model/profile.h"

namespace fathom::present {

// "thread;main;work[libx.so];read_[k]", weight. A name ends in "[file]" for a frame of that file, in "_[k]"
// for one of the kernel, in "_[j]" for one of generated code; other frames belong to "app".
using Folded = std::vector<std::pair<std::string, std::int64_t>>;

inline analysis::CallTree tree_of(const Folded& stacks, analysis::TreeOptions options = {}) {
  using namespace model;
  Profile profile;
  Builder builder(profile);
  const auto module = [&](ModuleKind kind, std::string_view name) {
    Module row;
    row.kind = kind;
    row.name = row.path = builder.string(name);
    return builder.module(row);
  };
  profile.processes.push_back({});
  for (const auto& [stack, weight] : stacks) {
    StackId id{0};
    bool first = true;
    for (std::size_t at = 0; at <= stack.size();) {
      const std::size_t end = std::min(stack.find(';', at), stack.size());
      std::string name = stack.substr(at, end - at);
      at = end + 1;
      if (first) {
        Thread thread;
        thread.tid = static_cast<std::int32_t>(profile.threads.size()) + 1;
        thread.name = builder.string(name);
        profile.threads.push_back(thread);
        first = false;
        continue;
      }
      ModuleId of = module(ModuleKind::kFile, "app");
      const std::size_t open = name.rfind('[');
      if (name.ends_with("_[k]")) {
        of = module(ModuleKind::kKernel, "[kernel]");
        name.resize(name.size() - 4);
      } else if (name.ends_with("_[j]")) {
        of = module(ModuleKind::kAnonymous, "[anonymous]");
        name.resize(name.size() - 4);
      } else if (open != std::string::npos && open > 0 && name.ends_with(']')) {
        of = module(ModuleKind::kFile, std::string_view(name).substr(open + 1, name.size() - open - 2));
        name.resize(open);
      }
      id = builder.stack(id, builder.named_frame(name, of));
    }
    Sample sample;
    sample.value = weight;
    sample.thread = {static_cast<std::uint32_t>(profile.threads.size()) - 1};
    sample.stack = id;
    sample.metric = options.selection.metric;
    profile.samples.push_back(sample);
  }
  return analysis::build_call_tree(profile, options);
}

// nullopt if `text` is well-formed; else what is wrong with it, and where. Knows what our pictures use: a
// declaration, comments, elements, attributes in double quotes, CDATA, the five named entities.
std::optional<std::string> xml_mistake(std::string_view text);

}  // namespace fathom::present
