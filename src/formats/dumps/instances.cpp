#include "formats/dumps/instances.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/parse.h"
#include "base/stable_sort.h"
#include "base/text.h"
#include "formats/jemalloc/estimate.h"
#include "linux/process/maps.h"

namespace fathom::dumps {
namespace {

// Where the first file, the vdso and the stack were mapped: constant during the life of a process and in its
// forked children, and different in each run.
std::string place_of(std::string_view maps) {
  std::string place;
  bool first = true;
  while (!maps.empty()) {
    std::string_view line = take_until(maps, '\n');
    // A process whose file was replaced in the meantime is still the same run.
    if (constexpr std::string_view kDeleted = " (deleted)"; line.ends_with(kDeleted))
      line.remove_suffix(kDeleted.size());
    const bool fixed = line.ends_with("[vdso]") || (first && line.find('/') != std::string_view::npos);
    if (!fixed) continue;
    if (line.find('/') != std::string_view::npos) first = false;
    place += fmt::format("{} {};", line.substr(0, line.find('-')), base_name(line));
  }
  return place;
}

}  // namespace

std::string short_label(const DumpFile& file) {
  if (!file.name) return std::string(base_name(file.path));
  return fmt::format("{} ({})", file.name->sequence, trigger_label(file));
}

std::string trigger_label(const DumpFile& file) {
  if (!file.name) return "";
  const char kind = static_cast<char>(file.name->trigger);
  if (file.name->trigger == formats::DumpTrigger::kFinal) return std::string(1, kind);
  return fmt::format("{}{}", kind, file.name->number);
}

model::HeapWeight live_in(const formats::HeapDump& dump) {
  model::HeapWeight all;
  for (const formats::DumpStack& stack : dump.stacks) {
    const model::HeapWeight one = formats::estimate(stack.counts.live, dump.mean_bytes);
    all.sum.blocks += one.sum.blocks;
    all.sum.bytes += one.sum.bytes;
    all.variance.blocks += one.variance.blocks;
    all.variance.bytes += one.variance.bytes;
  }
  return all;
}

std::string Instance::title() const {
  if (pid == 0) return std::string(base_name(dumps.front()->path));
  return fmt::format("process {} ({})", pid, base_name(prefix));
}

std::vector<Instance> instances_of(const std::vector<DumpFile>& files) {
  using Key = std::tuple<std::string, std::int32_t, std::string>;
  std::map<Key, std::size_t> rows;
  std::vector<Instance> instances;
  std::vector<std::string> places;
  const auto put = [&](const DumpFile& file, const std::string& place) {
    const Key key{file.name ? file.name->prefix : "", file.name ? file.name->pid : 0, place};
    // The dump was cut before its mappings: it goes to the most recent run with this pid.
    if (place.empty() && std::get<1>(key) != 0)
      for (std::size_t i = instances.size(); i-- > 0;)
        if (instances[i].prefix == std::get<0>(key) && instances[i].pid == std::get<1>(key)) {
          instances[i].dumps.push_back(&file);
          return;
        }
    const auto [row, added] = rows.try_emplace(key, instances.size());
    if (added) {
      instances.push_back({std::get<0>(key), std::get<1>(key), {}, false});
      places.push_back(place);
    }
    instances[row->second].dumps.push_back(&file);
  };
  for (const DumpFile& file : files)
    if (const std::string place = place_of(file.dump.maps); !place.empty()) put(file, place);
  for (const DumpFile& file : files)
    if (place_of(file.dump.maps).empty()) put(file, "");
  for (Instance& instance : instances)
    stable_sort_rows(instance.dumps, {},
                     [](const DumpFile* file) { return file->name ? file->name->sequence : 0; });
  const auto first = [](const Instance& instance) { return instance.dumps.front()->name->sequence; };
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> relatives;  // by place and prefix
  for (std::size_t i = 0; i < instances.size(); ++i)
    if (instances[i].pid != 0 && !places[i].empty()) relatives[{places[i], instances[i].prefix}].push_back(i);
  for (const auto& [_, family] : relatives) {
    if (family.size() < 2) continue;
    std::uint64_t earliest = first(instances[family.front()]);
    for (const std::size_t i : family) earliest = std::min(earliest, first(instances[i]));
    const auto parents =
        std::ranges::count_if(family, [&](std::size_t i) { return first(instances[i]) == earliest; });
    for (const std::size_t i : family) {
      instances[i].forked = first(instances[i]) > earliest;
      instances[i].related = parents > 1 && !instances[i].forked;
    }
  }
  return instances;
}

}  // namespace fathom::dumps
