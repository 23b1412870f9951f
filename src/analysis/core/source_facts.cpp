#include "analysis/core/source_facts.h"

#include <algorithm>

#include "analysis/core/call_tree.h"

namespace fathom::analysis {
namespace {

using namespace model;

// Values of broken files have any size.
void add_weight(std::int64_t& sum, std::int64_t weight) {
  if (__builtin_add_overflow(sum, weight, &sum)) sum = INT64_MAX;
}

}  // namespace

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

SourceFacts::SourceFacts(const Profile& profile, const std::vector<std::int64_t>& frame_weights)
    : profile_(profile), own_code_(profile) {
  for (std::uint32_t i = 0; i < frame_weights.size(); ++i)
    if (frame_weights[i] > 0) add({i}, frame_weights[i]);
}

bool SourceFacts::is_own(FrameId id, std::uint32_t line) {
  const Frame& frame = profile_.frames[id.value];
  if (line >= frame.line_count) return own_code_.is_own(frame_name(profile_, id), frame.module, "");
  const Line& row = profile_.lines[frame.first_line + line];
  const auto [known, is_new] = own_.try_emplace({row.function.value, row.file.value}, false);
  if (is_new)
    known->second = own_code_.is_own(profile_.strings[profile_.functions[row.function.value].name],
                                     frame.module, profile_.strings[row.file]);
  return known->second;
}

void SourceFacts::add(FrameId id, std::int64_t weight) {
  const Frame& frame = profile_.frames[id.value];
  if (profile_.modules[frame.module.value].kind == ModuleKind::kKernel) return;
  if (frame.line_count == 0 && is_own(id, 0)) own_names_.insert(frame_name(profile_, id));
  for (std::uint32_t i = 0; i < frame.line_count; ++i) {
    const Line& line = profile_.lines[frame.first_line + i];
    const std::string_view name = profile_.strings[profile_.functions[line.function.value].name];
    if (is_own(id, i)) own_names_.emplace(name);
    if (line.line != 0) add_weight(lines_[name][{line.file.value, line.line}], weight);
  }
}

SourcePlace SourceFacts::place_of(std::string_view name) const {
  const auto found = lines_.find(name);
  if (found == lines_.end()) return {};
  const auto most = std::max_element(found->second.begin(), found->second.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return {std::string(base_name(profile_.strings[StringId{most->first.first}])), most->first.second};
}

std::vector<std::int64_t> frame_weights_of(const Profile& profile, std::vector<std::int64_t> leaves) {
  std::vector<std::int64_t> frames(profile.frames.size());
  for (std::size_t i = leaves.size(); i-- > 1;) {
    add_weight(leaves[profile.stacks[i].parent.value], leaves[i]);
    if (leaves[i] > 0) add_weight(frames[profile.stacks[i].frame.value], leaves[i]);
  }
  return frames;
}

}  // namespace fathom::analysis
