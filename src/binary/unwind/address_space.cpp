#include "binary/unwind/address_space.h"

#include <algorithm>

namespace fathom::unwind {

void AddressSpace::remove(ProcessAddress start, ProcessAddress end) {
  if (start >= end) return;
  std::vector<unwind_mapping> kept;
  std::vector<std::shared_ptr<const Table>> kept_tables;
  const auto keep = [&](unwind_mapping mapping, std::uint64_t from, std::uint64_t to,
                        const std::shared_ptr<const Table>& table) {
    if (from >= to) return;
    mapping.start = from;
    mapping.end = to;
    kept.push_back(mapping);
    kept_tables.push_back(table);
  };
  for (std::size_t i = 0; i < mappings_.size(); ++i) {
    const unwind_mapping& each = mappings_[i];
    if (each.end <= start.value || each.start >= end.value) {
      keep(each, each.start, each.end, tables_[i]);
    } else {
      keep(each, each.start, start.value, tables_[i]);
      keep(each, end.value, each.end, tables_[i]);
    }
  }
  mappings_ = std::move(kept);
  tables_ = std::move(kept_tables);
}

void AddressSpace::add(ProcessAddress start, ProcessAddress end, std::uint64_t load_bias,
                       std::shared_ptr<const Table> table) {
  if (start >= end) return;
  remove(start, end);
  unwind_mapping mapping{};
  mapping.start = start.value;
  mapping.end = end.value;
  if (table && !table->pages.empty()) {
    mapping.bias = load_bias;
    mapping.page_count = static_cast<std::uint32_t>(table->pages.size());
    mapping.page_base = table->page_base;
  }
  const auto at =
      std::upper_bound(mappings_.begin(), mappings_.end(), mapping,
                       [](const unwind_mapping& a, const unwind_mapping& b) { return a.start < b.start; });
  tables_.insert(tables_.begin() + (at - mappings_.begin()), std::move(table));
  mappings_.insert(at, mapping);
}

void AddressSpace::clear() {
  mappings_.clear();
  tables_.clear();
}

const unwind_mapping* AddressSpace::find(ProcessAddress address) const {
  const auto after =
      std::upper_bound(mappings_.begin(), mappings_.end(), address.value,
                       [](std::uint64_t value, const unwind_mapping& m) { return value < m.start; });
  if (after == mappings_.begin() || address.value >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

}  // namespace fathom::unwind
