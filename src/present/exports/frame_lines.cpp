#include "present/exports/frame_lines.h"

#include <algorithm>

#include "analysis/core/fold_generics.h"
#include "analysis/core/tracer_frames.h"

namespace fathom::present {

FrameLines::FrameLines(const model::Profile& profile, bool fold_generics, bool tracer)
    : profile_(profile),
      fold_generics_(fold_generics),
      left_out_(tracer ? std::nullopt : analysis::tracer_module(profile)),
      ranges_(profile.frames.size()) {}

std::span<const std::uint32_t> FrameLines::of_frame(model::FrameId id, std::uint32_t skip) {
  const model::Frame& frame = profile_.frames[id.value];
  if (left_out_ && frame.module == *left_out_) return {};
  auto& [first, count] = ranges_[id.value];
  if (first == 0) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t i = 0; i < frame.line_count; ++i)
      rows.push_back(of_function(profile_.lines[frame.first_line + i]));
    if (rows.empty()) rows.push_back(of_name(profile_.pseudo_name(frame), frame.module));
    first = static_cast<std::uint32_t>(lines_.size()) + 1;
    count = static_cast<std::uint32_t>(rows.size());
    lines_.insert(lines_.end(), rows.begin(), rows.end());
  }
  return std::span(lines_).subspan(first - 1, count).subspan(std::min(skip, count));
}

void FrameLines::of_stack(model::StackId stack, std::uint32_t skip, std::string_view cause,
                          std::vector<std::uint32_t>& calls) {
  calls.clear();
  if (!cause.empty()) calls.push_back(of_cause(cause));
  for (; stack.value != 0; stack = profile_.stacks[stack.value].parent, skip = 0) {
    const auto rows = of_frame(profile_.stacks[stack.value].frame, skip);
    calls.insert(calls.end(), rows.begin(), rows.end());
  }
  std::ranges::reverse(calls);
}

std::uint32_t FrameLines::of_function(const model::Line& line) {
  std::uint32_t& known = functions_[std::uint64_t{line.function.value} << 32 | line.file.value];
  if (known == 0) {
    const model::Function& function = profile_.functions[line.function.value];
    const std::string_view name = profile_.strings[function.name];
    calls_.push_back({fold_generics_ ? analysis::fold_generics(name) : std::string(name),
                      profile_.strings[line.file], function.module});
    known = static_cast<std::uint32_t>(calls_.size());
  }
  return known - 1;
}

std::uint32_t FrameLines::of_name(const std::string& name, model::ModuleId module) {
  const auto [known, added] =
      names_.try_emplace({name, module.value}, static_cast<std::uint32_t>(calls_.size()));
  if (added) calls_.push_back({name, "", module});
  return known->second;
}

std::vector<std::uint32_t> tree_order(const model::Profile& profile) {
  const std::size_t count = profile.stacks.size();
  std::vector<std::uint32_t> first_child(count, 0), next(count, 0), order(count, 0);
  for (std::size_t i = count; i-- > 1;) {  // from the back, so that children stand in the order of their rows
    const std::uint32_t parent = profile.stacks[i].parent.value;
    next[i] = first_child[parent];
    first_child[parent] = static_cast<std::uint32_t>(i);
  }
  std::uint32_t at = 0, number = 0;
  while (true) {
    order[at] = number++;
    if (first_child[at] != 0) {
      at = first_child[at];
      continue;
    }
    while (at != 0 && next[at] == 0) at = profile.stacks[at].parent.value;
    if (at == 0) return order;
    at = next[at];
  }
}

}  // namespace fathom::present
