#include "tools/limit/holders.h"

#include "analysis/heap/heap_groups.h"

namespace fathom::limit {

Result<std::vector<Holder>> read_holders(const std::string& recording, const open::NameOptions& names,
                                         std::size_t count) {
  const auto profile = open::open_profile(recording, names);
  if (!profile) return tl::unexpected<Error>(profile.error());
  std::vector<Holder> holders;
  if (profile->heap.empty()) return holders;
  analysis::HeapGroupOptions options;
  options.selection.metric = model::Metric::kHeapLive;
  const analysis::HeapGroups groups = analysis::group_heap(*profile, options);
  for (const analysis::HeapGroupRow& row : groups.rows) {
    if (holders.size() == count || row.flat.value <= 0) break;
    holders.push_back({row.name, row.module, row.flat.value, row.flat.error()});
  }
  return holders;
}

}  // namespace fathom::limit
