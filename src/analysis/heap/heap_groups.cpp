#include "analysis/heap/heap_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "analysis/core/call_tree.h"
#include "analysis/core/code_name.h"
#include "analysis/core/fold_generics.h"
#include "analysis/core/shown_calls.h"
#include "analysis/core/words.h"

namespace fathom::analysis {
namespace {

using namespace model;

constexpr std::array<std::string_view, 7> kGroupings = {"stack",  "function", "module",   "crate",
                                                        "thread", "size",     "allocator"};

// "64 to 127 bytes"; buckets are those of HeapHistogram.
std::string size_class(int bucket) {
  if (bucket == 0) return "0 bytes";
  if (bucket == 1) return "1 byte";
  const double from = std::ldexp(1.0, bucket - 1);
  if (bucket <= 10) return fmt::format("{:.0f} to {:.0f} bytes", from, 2 * from - 1);
  return fmt::format("{} to {}", bytes(from), bytes(2 * from));
}

HeapAmount part_of(const HeapAmount& amount, double share) {
  return {amount.value * share, amount.variance * share};
}
HeapAmounts part_of(const HeapAmounts& amounts, double blocks, double bytes) {
  return {part_of(amounts.blocks, blocks), part_of(amounts.bytes, bytes)};
}

constexpr const char* kNoStack = "[no stack]";  // also where all calls are hidden

class Grouper {
 public:
  Grouper(const Profile& profile, const HeapGroupOptions& options)
      : profile_(profile),
        options_(options),
        sums_(profile, options.selection),
        leaves_(profile, options.selection, true),
        shown_(profile, options.selection.stacks.get()) {}

  HeapGroups group() {
    groups_.by = options_.by;
    groups_.metric = options_.selection.metric;
    const HeapUnit unit = unit_of_heap(options_.selection);
    groups_.blocks = unit == HeapUnit::kBlocks;
    groups_.has_cumulative = options_.by == HeapGrouping::kFunction || options_.by == HeapGrouping::kModule ||
                             options_.by == HeapGrouping::kCrate;
    groups_.by_total = options_.by_total;
    groups_.window_s = sums_.window_s();
    const bool by_size = options_.by == HeapGrouping::kSize;
    if (by_size) share_out_sizes();
    const HeapTables& heap = profile_.heap;
    for (std::uint32_t i = 0; i < heap.sites.size(); ++i) {
      if (!sums_.takes({i})) continue;
      const HeapAmount value = sums_.value({i}, groups_.metric, unit);
      const HeapSiteSums& site = sums_.sites()[i];
      if (value.value == 0 && value.variance == 0 && site.allocated.blocks.value == 0) continue;
      if (heap.heaps[heap.sites[i].heap.value].mode == HeapMode::kSampled) groups_.sampled = true;
      groups_.total.add(value);
      groups_.whole += std::max(0.0, value.value);
      if (by_size) {
        add_by_size(i, value, site);
      } else {
        HeapGroupRow& row = row_of(heap.sites[i]);
        add(row, value, site);
        if (groups_.has_cumulative) add_below(heap.sites[i].stack, value);
      }
    }
    finish();
    return std::move(groups_);
  }

 private:
  static void add(HeapGroupRow& row, const HeapAmount& value, const HeapSiteSums& site) {
    row.flat.add(value);
    row.allocated.add(site.allocated);
    row.freed.add(site.freed);
    for (const auto& [to, from] :
         {std::pair(&row.temporary, &site.temporary), std::pair(&row.short_lived, &site.short_lived)}) {
      to->blocks += from->blocks;
      to->bytes += from->bytes;
    }
    ++row.sites;
  }

  HeapGroupRow& row_named(const std::string& name, const std::string& module = {}) {
    const auto [known, is_new] = by_name_.try_emplace({name, module}, groups_.rows.size());
    if (is_new) {
      groups_.rows.emplace_back();
      groups_.rows.back().name = name;
      groups_.rows.back().module = module;
    }
    return groups_.rows[known->second];
  }

  std::string module_name(FrameId frame) const {
    const std::string_view name =
        profile_.strings[profile_.modules[profile_.frames[frame.value].module.value].name];
    return name.empty() ? "[no module]" : std::string(name);
  }
  std::string function_name(FrameId frame, std::uint32_t line) const {
    const std::string name = frame_name(profile_, frame, line);
    return options_.fold_generics ? fold_generics(name) : name;
  }

  // The row of one line of a frame, for functions, modules and crates; looked up once.
  std::size_t row_of_line(FrameId id, std::uint32_t line) {
    const auto [known, is_new] = by_line_.try_emplace(std::uint64_t{id.value} << 32 | line, 0);
    if (is_new) {
      const std::string module = module_name(id);
      const auto row = [&]() -> HeapGroupRow& {
        if (options_.by == HeapGrouping::kModule) return row_named(module);
        const std::string name = function_name(id, line);
        if (options_.by == HeapGrouping::kFunction) return row_named(name, module);
        const std::string_view crate = crate_of(name);
        return row_named(crate.empty() ? module : std::string(crate));
      };
      known->second = static_cast<std::size_t>(&row() - groups_.rows.data());
    }
    return known->second;
  }

  HeapGroupRow& row_of(const HeapSite& site) {
    switch (options_.by) {
      case HeapGrouping::kThread:
        return row_named(site.thread == kNoThread ? "[all threads]" : thread_name(profile_, site.thread));
      case HeapGrouping::kAllocator: {
        const std::string_view label = profile_.strings[profile_.heap.allocators[site.allocator.value].label];
        return row_named(label.empty() ? "(unknown allocator)" : std::string(label));
      }
      case HeapGrouping::kStack:
        return row_of_stack(leaves_.of(site.stack));
      default:
        break;
    }
    const HeapLeaf leaf = leaves_.of(site.stack);
    std::optional<std::size_t> row;
    shown_.visit(leaf.stack, leaf.skip, [&](FrameId frame, std::uint32_t line) {
      row = row_of_line(frame, line);
      return false;
    });
    return row ? groups_.rows[*row] : row_named(kNoStack);
  }

  HeapGroupRow& row_of_stack(const HeapLeaf& leaf) {
    const auto [known, is_new] =
        by_line_.try_emplace(std::uint64_t{leaf.stack.value} << 32 | leaf.skip, groups_.rows.size());
    if (!is_new) return groups_.rows[known->second];
    std::vector<std::string> names;
    shown_.visit(leaf.stack, leaf.skip, [&](FrameId frame, std::uint32_t line) {
      names.push_back(function_name(frame, line));
      return true;
    });
    if (names.empty()) names.emplace_back(kNoStack);
    // Different addresses in the same functions are one stack to the reader.
    const auto [row, added] = by_stack_.try_emplace(names, groups_.rows.size());
    known->second = row->second;
    if (added) {
      groups_.rows.emplace_back();
      groups_.rows.back().name = names.front();
      groups_.rows.back().stack = std::move(names);
    }
    return groups_.rows[row->second];
  }

  // To every group on the stack, from the leaf on, once.
  void add_below(StackId stack, const HeapAmount& value) {
    const HeapLeaf leaf = leaves_.of(stack);
    bool any = false;
    ++visit_;
    shown_.visit(leaf.stack, leaf.skip, [&](FrameId frame, std::uint32_t line) {
      const std::size_t row = row_of_line(frame, line);
      visited_.resize(groups_.rows.size(), 0);
      if (std::exchange(visited_[row], visit_) != visit_) groups_.rows[row].cumulative.add(value);
      return any = true;
    });
    if (!any) row_named(kNoStack).cumulative.add(value);
  }

  void share_out_sizes() {
    sizes_.resize(profile_.heap.sites.size());
    for (const HeapHistogram& row : profile_.heap.histograms)
      if (row.kind == HeapHistogramKind::kSize && row.sum.blocks > 0)
        sizes_[row.site.value].push_back({row.bucket, row.sum});
  }

  void add_by_size(std::uint32_t index, const HeapAmount& value, const HeapSiteSums& site) {
    const auto& sizes = sizes_[index];
    if (sizes.empty()) return add(row_named("[size not known]"), value, site);
    if (sizes.size() > 1) groups_.estimated = true;
    HeapSum all;
    for (const auto& [bucket, sum] : sizes) {
      all.blocks += sum.blocks;
      all.bytes += sum.bytes;
    }
    for (const auto& [bucket, sum] : sizes) {
      const double blocks = sum.blocks / all.blocks;
      const double share = all.bytes > 0 ? sum.bytes / all.bytes : blocks;
      HeapSiteSums part;
      part.allocated = part_of(site.allocated, blocks, share);
      part.freed = part_of(site.freed, blocks, share);
      part.temporary = {site.temporary.blocks * blocks, site.temporary.bytes * share};
      part.short_lived = {site.short_lived.blocks * blocks, site.short_lived.bytes * share};
      HeapGroupRow& row = row_named(size_class(bucket));
      add(row, part_of(value, groups_.blocks ? blocks : share), part);
    }
  }

  void finish() {
    if (!groups_.has_cumulative)
      for (HeapGroupRow& row : groups_.rows) row.cumulative = row.flat;
    const auto unused = [](const HeapGroupRow& row) {
      return row.flat.value == 0 && row.cumulative.value == 0 && row.allocated.blocks.value == 0;
    };
    groups_.rows.erase(std::remove_if(groups_.rows.begin(), groups_.rows.end(), unused), groups_.rows.end());
    const bool by_total = groups_.by_total;
    std::sort(groups_.rows.begin(), groups_.rows.end(),
              [by_total](const HeapGroupRow& a, const HeapGroupRow& b) {
                const auto key = [by_total](const HeapGroupRow& row) {
                  const double first = by_total ? row.cumulative.value : row.flat.value;
                  const double second = by_total ? row.flat.value : row.cumulative.value;
                  return std::tuple(-first, -second, -row.allocated.bytes.value);
                };
                if (key(a) != key(b)) return key(a) < key(b);
                return std::tie(a.name, a.module, a.stack) < std::tie(b.name, b.module, b.stack);
              });
  }

  const Profile& profile_;
  const HeapGroupOptions& options_;
  HeapSums sums_;
  HeapLeaves leaves_;
  ShownCalls shown_;
  HeapGroups groups_;
  std::map<std::pair<std::string, std::string>, std::size_t> by_name_;
  std::map<std::uint64_t, std::size_t> by_line_;  // frame or stack, and line
  std::map<std::vector<std::string>, std::size_t> by_stack_;
  std::vector<std::vector<std::pair<std::uint8_t, HeapSum>>> sizes_;
  std::vector<std::uint64_t> visited_;  // per row, the last visit
  std::uint64_t visit_ = 0;
};

nlohmann::ordered_json sum_json(const HeapSum& sum) {
  return {{"blocks", sum.blocks}, {"bytes", sum.bytes}};
}

}  // namespace

std::string_view to_string(HeapGrouping grouping) {
  return kGroupings[static_cast<std::size_t>(grouping)];
}

std::optional<HeapGrouping> heap_grouping_from(std::string_view name) {
  const auto found = std::find(kGroupings.begin(), kGroupings.end(), name);
  if (found == kGroupings.end()) return std::nullopt;
  return static_cast<HeapGrouping>(found - kGroupings.begin());
}

HeapGroups group_heap(const Profile& profile, const HeapGroupOptions& options) {
  return Grouper(profile, options).group();
}

void add_heap_groups(nlohmann::ordered_json& json, const HeapGroups& groups, std::size_t top) {
  nlohmann::ordered_json all;
  all["by"] = to_string(groups.by);
  all["metric"] = model::to_string(groups.metric);
  all["unit"] = groups.blocks ? "blocks" : "bytes";
  all["window_s"] = groups.window_s;
  all["estimated"] = groups.estimated;
  all["total"] = groups.total.value;
  all["total_error"] = groups.total.error();
  all["rows_total"] = groups.rows.size();
  all["rows"] = nlohmann::ordered_json::array();
  const double window = groups.window_s;
  for (const HeapGroupRow& row : groups.rows) {
    if (top != 0 && all["rows"].size() == top) break;
    nlohmann::ordered_json one;
    one["name"] = valid_utf8(row.name);
    if (groups.by == HeapGrouping::kFunction) one["module"] = valid_utf8(row.module);
    if (groups.by == HeapGrouping::kStack) {
      one["stack"] = nlohmann::ordered_json::array();
      for (const std::string& function : row.stack) one["stack"].push_back(valid_utf8(function));
    }
    one["flat"] = row.flat.value;
    one["flat_error"] = row.flat.error();
    one["flat_percent"] = groups.whole > 0 ? 100 * row.flat.value / groups.whole : 0;
    if (groups.has_cumulative) {
      one["cumulative"] = row.cumulative.value;
      one["cumulative_error"] = row.cumulative.error();
      one["cumulative_percent"] = groups.whole > 0 ? 100 * row.cumulative.value / groups.whole : 0;
    }
    one["allocations"] = row.allocated.blocks.value;
    one["allocated_bytes"] = row.allocated.bytes.value;
    one["allocations_per_s"] =
        window > 0 ? nlohmann::ordered_json(row.allocated.blocks.value / window) : nlohmann::ordered_json();
    one["allocated_bytes_per_s"] =
        window > 0 ? nlohmann::ordered_json(row.allocated.bytes.value / window) : nlohmann::ordered_json();
    one["freed_bytes"] = row.freed.bytes.value;
    one["temporary"] = groups.sampled ? nlohmann::ordered_json() : sum_json(row.temporary);
    one["short_lived"] = sum_json(row.short_lived);
    one["stacks"] = row.sites;
    all["rows"].push_back(std::move(one));
  }
  json["heap_groups"] = std::move(all);
}

}  // namespace fathom::analysis
