#include "analysis/core/source_facts.h"

#include <algorithm>

#include "analysis/core/call_tree.h"
#include "base/text.h"

namespace fathom::analysis {
namespace {

using namespace model;

// Values of broken files have any size.
void add_weight(std::int64_t& sum, std::int64_t weight) {
  if (__builtin_add_overflow(sum, weight, &sum)) sum = INT64_MAX;
}

}  // namespace

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
  const std::string_view module = profile_.strings[profile_.modules[frame.module.value].name];
  const auto sort = [&](std::string_view name, bool own) {
    if (own)
      own_names_.emplace(module, name);
    else if (own_code_.is_linked_code(name, frame.module))
      linked_names_.emplace(module, name);
  };
  if (frame.line_count == 0)
    sort(*made_names_.insert(std::string(frame_name(profile_, id))).first, is_own(id, 0));
  for (std::uint32_t i = 0; i < frame.line_count; ++i) {
    const Line& line = profile_.lines[frame.first_line + i];
    const std::string_view name = profile_.strings[profile_.functions[line.function.value].name];
    sort(name, is_own(id, i));
    if (line.line != 0) add_weight(lines_[{module, name}][{line.file.value, line.line}], weight);
  }
}

SourcePlace SourceFacts::most_of(const Lines& lines) const {
  const auto most = std::max_element(lines.begin(), lines.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == lines.end()) return {};
  const std::string_view path = profile_.strings[StringId{most->first.first}];
  return {std::string(base_name(path)), most->first.second, std::string(path)};
}

SourcePlace SourceFacts::place_of(std::string_view module, std::string_view name) const {
  const auto found = lines_.find({module, name});
  return found == lines_.end() ? SourcePlace{} : most_of(found->second);
}

SourcePlace SourceFacts::place_of(std::string_view name) const {
  Lines all;
  for (const auto& [key, lines] : lines_)
    if (key.second == name)
      for (const auto& [line, weight] : lines) add_weight(all[line], weight);
  return most_of(all);
}

std::vector<std::int64_t> frame_weights_of(const Profile& profile, std::vector<std::int64_t>& weights) {
  std::vector<std::int64_t> frames(profile.frames.size());
  for (std::size_t i = weights.size(); i-- > 1;) {
    add_weight(weights[profile.stacks[i].parent.value], weights[i]);
    if (weights[i] > 0) add_weight(frames[profile.stacks[i].frame.value], weights[i]);
  }
  return frames;
}

}  // namespace fathom::analysis
