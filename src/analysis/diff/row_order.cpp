#include "analysis/diff/row_order.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/core/source_facts.h"

namespace fathom::analysis {

void sort_rows(DiffReport& report) {
  std::sort(report.rows.begin(), report.rows.end(), [](const DiffRow& a, const DiffRow& b) {
    const auto key = [](const DiffRow& row) {
      return std::tuple(-std::fabs(row.self.change), -std::fabs(row.total.change), std::string_view(row.name),
                        std::string_view(row.module));
    };
    return key(a) < key(b);
  });
  for (std::vector<DiffGroup>* groups : {&report.threads, &report.causes, &report.modules, &report.crates}) {
    std::sort(groups->begin(), groups->end(), [](const DiffGroup& a, const DiffGroup& b) {
      return std::pair(-std::fabs(a.self.change), std::string_view(a.name)) <
             std::pair(-std::fabs(b.self.change), std::string_view(b.name));
    });
  }
}

void find_places(const ComparedRuns& compared, DiffReport& report) {
  const auto changed = [](const DiffRow& row) { return row.self.beyond_noise || row.total.beyond_noise; };
  if (compared.options.fold_generics || std::none_of(report.rows.begin(), report.rows.end(), changed)) return;
  for (const std::size_t run : {compared.runs.size() - 1, std::size_t{0}}) {
    Selection selection = compared.runs[run]->selection;
    selection.metric = compared.options.metric;
    const model::Profile& profile = *compared.runs[run]->profile;
    std::vector<std::int64_t> leaves(profile.stacks.size(), 0);
    for (const StackValue& value : stack_values(profile, selection)) leaves[value.stack.value] = value.value;
    const SourceFacts facts(profile, frame_weights_of(profile, leaves));
    for (DiffRow& row : report.rows) {
      if (row.line != 0 || !changed(row)) continue;
      const SourcePlace place = facts.place_of(row.name);
      row.file = place.file;
      row.line = place.line;
    }
  }
}

}  // namespace fathom::analysis
