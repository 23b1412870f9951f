// The mappings of a process as a table.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "analysis/core/words.h"
#include "present/text/text_table.h"
#include "tools/watch/text.h"

namespace fathom::watch {
namespace {

using present::Align;

std::string mapped_size(std::uint64_t value) {
  return analysis::bytes(static_cast<double>(value));
}
std::string or_empty(std::uint64_t value) {
  return value == 0 ? std::string() : mapped_size(value);
}
std::string signed_change(std::int64_t value) {
  return (value < 0 ? "-" : "+") + mapped_size(static_cast<std::uint64_t>(std::llabs(value)));
}

std::string mode_of(const process::MapEntry& entry) {
  return fmt::format("{}{}{}{}", entry.readable ? 'r' : '-', entry.writable ? 'w' : '-',
                     entry.executable ? 'x' : '-', entry.shared ? 's' : 'p');
}

std::string name_of_anonymous(const WatchedMapping& watched) {
  if (watched.allocator.empty()) return "anonymous";
  // Its own records lie in the same mappings, and a page may have come since it was read.
  constexpr double kAll = 0.9;
  if (static_cast<double>(watched.allocator_bytes) >= kAll * static_cast<double>(watched.judged.mapping.rss))
    return "heap, " + watched.allocator;
  return fmt::format("anonymous, {} of it heap of {}", mapped_size(watched.allocator_bytes),
                     watched.allocator);
}

}  // namespace

std::string name_of(const WatchedMapping& watched) {
  using sources::MappingUse;
  const std::string name = analysis::printable(watched.judged.name);
  switch (watched.judged.use) {
    case MappingUse::kThreadStack:
      return name.empty() ? "stack of a thread" : "stack of thread " + name;
    case MappingUse::kMainStack:
      return "main stack";
    case MappingUse::kArena:
      return "glibc arena";
    case MappingUse::kFileZeroed:
      return name + " (.bss)";
    case MappingUse::kBreak:
      return "heap of brk";
    case MappingUse::kShared:
      return name.empty() || name == "/dev/zero" ? "shared, without a file" : name;
    case MappingUse::kFile:
    case MappingUse::kKernel:
    case MappingUse::kHugeFile:
    case MappingUse::kAnonymous:
      break;
  }
  return name.empty() ? name_of_anonymous(watched) : name;
}

std::string mappings_text(std::span<const WatchedMapping> mappings, const TextOptions& options) {
  const auto any = [&](auto&& has) { return std::ranges::any_of(mappings, has); };
  const bool shares = any([](const WatchedMapping& one) { return one.sharing.has_value(); });
  const bool changes = any([](const WatchedMapping& one) { return one.change.has_value(); });
  std::vector<present::TextTable::Column> columns{{"address", Align::kRight}, {"virtual", Align::kRight}};
  if (changes) columns.push_back({"change", Align::kRight});
  columns.push_back({"resident", Align::kRight});
  if (shares) columns.push_back({"PSS", Align::kRight});
  columns.push_back({"own", Align::kRight});
  if (shares) columns.push_back({"dirty", Align::kRight});
  columns.push_back({"huge", Align::kRight});
  columns.push_back({"swapped", Align::kRight});
  columns.push_back({"mode", Align::kLeft});
  columns.push_back({"mapping", Align::kLeft, true});
  present::TextTable table(std::move(columns));

  WatchedMapping sum;
  sum.sharing.emplace();
  sum.change = 0;
  std::uint64_t virtual_bytes = 0;
  const auto add = [&](const std::string& address, std::uint64_t size, const WatchedMapping& watched,
                       const std::string& mode, const std::string& name, bool is_sum) {
    const sources::MemoryMapping& mapping = watched.judged.mapping;
    const auto some = [&](std::uint64_t value) { return is_sum ? mapped_size(value) : or_empty(value); };
    std::vector<std::string> cells{address, mapped_size(size)};
    if (changes) cells.push_back(signed_change(watched.change.value_or(0)));
    cells.push_back(some(mapping.rss));
    if (shares) cells.push_back(watched.sharing ? some(watched.sharing->proportional) : "");
    cells.push_back(some(mapping.anonymous));
    if (shares) cells.push_back(watched.sharing ? some(watched.sharing->dirty) : "");
    // Explicit ones are only in this column: the kernel counts them separately from the resident set.
    cells.push_back(or_empty(mapping.huge + mapping.huge_file));
    cells.push_back(or_empty(mapping.swap));
    cells.push_back(mode);
    cells.push_back(name);
    table.add(std::move(cells));
  };
  const std::size_t shown = options.top == 0 ? mappings.size() : std::min(options.top, mappings.size());
  for (std::size_t i = 0; i < mappings.size(); ++i) {
    const WatchedMapping& watched = mappings[i];
    const sources::MemoryMapping& mapping = watched.judged.mapping;
    sources::MemoryMapping& all = sum.judged.mapping;
    all.rss += mapping.rss;
    all.anonymous += mapping.anonymous;
    all.huge += mapping.huge;
    all.huge_file += mapping.huge_file;
    all.swap += mapping.swap;
    if (watched.sharing) sum.sharing->proportional += watched.sharing->proportional;
    if (watched.sharing) sum.sharing->dirty += watched.sharing->dirty;
    *sum.change += watched.change.value_or(0);
    virtual_bytes += mapping.entry.size();
    if (i < shown)
      add(fmt::format("{:x}", mapping.entry.start.value), mapping.entry.size(), watched,
          mode_of(mapping.entry), name_of(watched), false);
  }
  add("total", virtual_bytes, sum, "",
      shown < mappings.size() ? fmt::format("{} of {} mappings shown", shown, mappings.size())
                              : analysis::counted(mappings.size(), "mapping"),
      true);
  return table.text(options.width, options.color);
}

}  // namespace fathom::watch
