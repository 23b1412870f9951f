#include "present/text/text_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/core/words.h"
#include "present/sentences/memory_sentences.h"
#include "present/text/heading.h"
#include "present/text/rows_shown.h"
#include "present/text/text_table.h"

namespace fathom::present {
namespace {

using analysis::bytes;
using analysis::percent_number;
using analysis::printable;

std::string some_bytes(std::uint64_t value) {
  return value == 0 ? "" : bytes(static_cast<double>(value));
}

// The last part of a path is the informative one.
std::string short_name(const analysis::MemoryRangeRow& row) {
  const std::size_t slash = row.kind.starts_with("file") ? row.name.rfind('/') : std::string::npos;
  return printable(slash == std::string::npos ? row.name : row.name.substr(slash + 1));
}

std::string parts_text(const analysis::RssBreakdown& breakdown, const TextOptions& options) {
  bool estimated = false;
  for (const analysis::MemoryPart& part : breakdown.parts) estimated = estimated || part.bytes.variance > 0;
  std::vector<TextTable::Column> columns{{"resident", Align::kRight}};
  if (estimated) columns.push_back({"±", Align::kRight});
  columns.insert(columns.end(), {{"% of RSS", Align::kRight}, {"% of anon", Align::kRight}, {"part"}});
  TextTable table(std::move(columns));
  const auto share = [](double part, std::uint64_t whole) {
    return whole == 0 ? "" : percent_number(part / static_cast<double>(whole));
  };
  const auto add = [&](double value, const analysis::HeapAmount* error, bool anonymous,
                       const std::string& label) {
    std::vector<std::string> cells{bytes(value)};
    if (estimated)
      cells.push_back(error != nullptr && error->variance > 0 ? "±" + bytes(error->error()) : "");
    cells.insert(cells.end(),
                 {share(value, breakdown.rss), anonymous ? share(value, breakdown.anonymous) : "", label});
    table.add(std::move(cells));
  };
  add(static_cast<double>(breakdown.rss), nullptr, false, "RSS");
  add(static_cast<double>(breakdown.anonymous), nullptr, true, "  anonymous");
  for (const analysis::MemoryPart& part : breakdown.parts)
    if (part.anonymous)
      add(part.bytes.value, &part.bytes, true, "    " + std::string(label_of(part, breakdown.traced)));
  for (const analysis::MemoryPart& part : breakdown.parts)
    if (!part.anonymous)
      add(part.bytes.value, &part.bytes, false, "  " + std::string(label_of(part, breakdown.traced)));
  std::string out = table.text(table_width(options), options.color);
  std::string beside;
  const auto say = [&](double value, std::string_view words) {
    if (value > 0) beside += fmt::format("{}{} {}", beside.empty() ? "" : ", ", bytes(value), words);
  };
  say(breakdown.page_tables.value_or(0), "page tables");
  say(static_cast<double>(breakdown.swap), "swapped out");
  say(static_cast<double>(breakdown.huge_file), "explicit huge pages");
  say(breakdown.cgroup.value_or(0), "in the control group as a whole");
  say(static_cast<double>(breakdown.virtual_bytes), "address space");
  say(static_cast<double>(breakdown.huge), "of the anonymous memory on huge pages");
  if (!beside.empty()) out += fill("  also: ", beside, options.width, 13);
  if (breakdown.sharing) {
    const analysis::Sharing& sharing = *breakdown.sharing;
    out +=
        fill("  sharing: ",
             fmt::format("{} private, {} of it dirty; {} shared with other processes; PSS {}",
                         bytes(sharing.private_clean + sharing.private_dirty), bytes(sharing.private_dirty),
                         bytes(sharing.shared_clean + sharing.shared_dirty), bytes(sharing.proportional)),
             options.width, 11);
  }
  return out;
}

std::string ranges_text(const analysis::RssBreakdown& breakdown, const TextOptions& options) {
  std::size_t shown = rows_shown(breakdown.ranges.size(), options);
  std::string cut;
  if (shown < breakdown.ranges.size()) cut = fmt::format(", {} of {}", shown, breakdown.ranges.size());
  std::string out = heading("Ranges, most resident first" + cut, options);
  TextTable table({{"resident", Align::kRight},
                   {"live in it", Align::kRight},
                   {"huge", Align::kRight},
                   {"swapped", Align::kRight},
                   {"virtual", Align::kRight},
                   {"ranges", Align::kRight},
                   {"kind"},
                   {"name", Align::kLeft, true},
                   {"allocator"}});
  for (std::size_t i = 0; i < shown; ++i) {
    const analysis::MemoryRangeRow& row = breakdown.ranges[i];
    table.add({bytes(static_cast<double>(row.rss_bytes)),
               row.live_blocks > 0 ? bytes(row.live_resident.value) : "", some_bytes(row.huge_bytes),
               some_bytes(row.swap_bytes), bytes(static_cast<double>(row.virtual_bytes)),
               analysis::with_commas(static_cast<std::int64_t>(row.ranges)), std::string(row.kind),
               options.width == 0 ? printable(row.name) : short_name(row), printable(row.allocator)});
  }
  return out + table.text(table_width(options), options.color);
}

std::string file_caches_text(const analysis::RssBreakdown& breakdown, const TextOptions& options) {
  if (breakdown.file_caches.empty()) return "";
  std::string out = heading("Page cache of mapped databases, from all processes", options);
  TextTable table({{"cached", Align::kRight},
                   {"% of file", Align::kRight},
                   {"at first", Align::kRight},
                   {"most", Align::kRight},
                   {"dirty", Align::kRight},
                   {"just evicted", Align::kRight},
                   {"file", Align::kLeft, true}});
  const auto told = [](const std::optional<double>& value) { return value ? bytes(*value) : "not known"; };
  for (const analysis::FileCacheRow& row : breakdown.file_caches)
    table.add({bytes(row.cached), row.size > 0 ? percent_number(row.cached / row.size) : "",
               bytes(row.cached_first), bytes(row.cached_most), told(row.dirty), told(row.evicted),
               printable(row.path)});
  return out + table.text(table_width(options), options.color);
}

}  // namespace

std::string memory_text(const analysis::RssBreakdown& breakdown, const TextOptions& options, bool sentences) {
  std::string out =
      heading(fmt::format("Memory, {} after the start{}", analysis::seconds(breakdown.at_s),
                          breakdown.processes > 1 ? fmt::format(", {} processes", breakdown.processes) : ""),
              options);
  if (sentences)
    for (const std::string& sentence : sentences_of(breakdown)) out += fill("  ", sentence, options.width, 4);
  out += parts_text(breakdown, options);
  out += ranges_text(breakdown, options);
  return out + file_caches_text(breakdown, options);
}

}  // namespace fathom::present
