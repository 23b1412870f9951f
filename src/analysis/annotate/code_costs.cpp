#include "analysis/annotate/code_costs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analysis/core/functions.h"

namespace fathom::annotate {

PlaceKey place_of(const model::Profile& profile, model::FrameId frame) {
  const model::Frame& row = profile.frames[frame.value];
  return {row.module, row.address, row.address.value == 0 ? frame.value + 1 : 0};
}

Result<CodeCosts> code_costs(const model::Profile& profile, const analysis::Selection& selection,
                             const std::string& pattern) {
  analysis::TreeOptions options;
  options.selection = selection;
  options.selection.fold_containers = false;  // who asks for a container wants to see it
  options.thread_roots = false;
  const analysis::CallTree tree = analysis::build_call_tree(profile, options);
  const Result<std::vector<char>> matched = analysis::matching_names(tree, pattern);
  if (!matched) return tl::unexpected(matched.error());
  std::set<std::string, std::less<>> names;
  for (std::size_t i = 0; i < matched->size(); ++i)
    if ((*matched)[i] != 0) names.insert(tree.names[i]);

  // By frame: 0 it has none of the functions, 1 its code is one of them, 2 one of them was inlined there.
  std::vector<char> kinds(profile.frames.size(), 0);
  std::set<std::string> found;
  for (std::uint32_t i = 0; i < profile.frames.size(); ++i) {
    const std::uint32_t lines = std::max(1U, profile.frames[i].line_count);
    for (std::uint32_t line = 0; line < lines; ++line) {
      const std::string name = analysis::frame_name(profile, model::FrameId{i}, line);
      if (!names.contains(name)) continue;
      kinds[i] = line + 1 == lines ? 1 : std::max<char>(kinds[i], 2);
      if (kinds[i] == 1) break;
    }
  }

  CodeCosts costs;
  costs.functions.assign(names.begin(), names.end());
  costs.all = tree.total;
  costs.unit = tree.unit;
  costs.effective_samples = tree.effective_samples;
  std::vector<PlaceKey> seen;
  for (const analysis::StackValue& row : analysis::stack_values(profile, options.selection)) {
    if (row.stack.value == 0 || row.value == 0) continue;
    seen.clear();
    bool leaf = true, any = false;
    for (model::StackId at = row.stack; at.value != 0; at = profile.stacks[at.value].parent) {
      const model::FrameId frame = profile.stacks[at.value].frame;
      const bool is_leaf = std::exchange(leaf, false);
      if (kinds[frame.value] == 0) continue;
      any = true;
      const PlaceKey key = place_of(profile, frame);
      PlaceCost& cost = costs.places.try_emplace(key, PlaceCost{frame, {}}).first->second;
      if (kinds[frame.value] == 2) costs.inlined.insert(key);
      if (is_leaf) {
        cost.cost.self += row.value;
        costs.cost.self += row.value;
      }
      if (std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
      seen.push_back(key);
      cost.cost.total += row.value;
    }
    if (!any) continue;
    costs.cost.total += row.value;
    costs.stacks.push_back(row);
  }
  costs.stands.assign(kinds.size(), 0);
  for (std::size_t i = 0; i < kinds.size(); ++i) costs.stands[i] = kinds[i] == 0 ? 0 : 1;
  return costs;
}

}  // namespace fathom::annotate
