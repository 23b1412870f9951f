#include "cli/top_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/core/words.h"
#include "base/stable_sort.h"
#include "present/keys/key_map.h"

namespace fathom::cli {
namespace {

constexpr char kEscape = 27, kReturn = '\r', kNewLine = '\n', kDelete = 127, kBackspace = 8;
constexpr std::size_t kLongestFilter = 100;

std::string_view unit_of(TopMetric metric) {
  switch (metric) {
    case TopMetric::kWaits:
      return "threads that wait";
    case TopMetric::kAllocations:
      return "MiB allocated per second";
    case TopMetric::kCpu:
      break;
  }
  return "% of one CPU";
}

TopMetric next_metric(TopMetric metric, bool has_heap) {
  if (metric == TopMetric::kCpu) return TopMetric::kWaits;
  return metric == TopMetric::kWaits && has_heap ? TopMetric::kAllocations : TopMetric::kCpu;
}

}  // namespace

void TopScreen::take(TopTable table) {
  if (!frozen_) table_ = std::move(table);
}

bool TopScreen::key(char byte) {
  notice_.clear();
  if (typing_) {
    if (byte == kReturn || byte == kNewLine) {
      typing_ = false;
    } else if (byte == kEscape) {
      typing_ = false;
      filter_.clear();
    } else if (byte == kDelete || byte == kBackspace) {
      if (!filter_.empty()) filter_.pop_back();
    } else if (static_cast<unsigned char>(byte) >= ' ' && filter_.size() < kLongestFilter) {
      filter_ += byte;
    }
    return true;
  }
  const std::string_view name = present::action_of_byte(present::Surface::kTop, byte);
  if (name == "quit")
    end_ = true;
  else if (name == "pause")
    frozen_ = !frozen_;
  else if (name == "order")
    by_total_ = !by_total_;
  else if (name == "metric")
    metric_ = next_metric(metric_, table_.allocated_per_s.has_value());
  else if (name == "focus" || name == "search")
    typing_ = true;
  else if (name == "clear")
    filter_.clear();
  else if (name == "save")
    save_ = true;
  else
    return false;
  return true;
}

const std::vector<TopRow>& TopScreen::rows() const {
  switch (metric_) {
    case TopMetric::kWaits:
      return table_.waits;
    case TopMetric::kAllocations:
      return table_.allocations;
    case TopMetric::kCpu:
      break;
  }
  return table_.cpu;
}

std::vector<const TopRow*> TopScreen::chosen() const {
  std::vector<const TopRow*> rows;
  for (const TopRow& row : this->rows())
    if (filter_.empty() || row.name.find(filter_) != std::string::npos ||
        row.module.find(filter_) != std::string::npos)
      rows.push_back(&row);
  stable_sort_rows(rows, [&](const TopRow* a, const TopRow* b) {
    return by_total_ ? a->total > b->total : std::pair(a->self, a->total) > std::pair(b->self, b->total);
  });
  if (!by_total_) std::erase_if(rows, [](const TopRow* row) { return !(row->self > 0); });
  return rows;
}

std::string TopScreen::head() const {
  const std::string allocated =
      table_.allocated_per_s ? fmt::format("  {}/s allocated", analysis::bytes(*table_.allocated_per_s)) : "";
  return fmt::format("{}  {:.0f} s  {:.2f} CPUs  {:.1f} of {} threads waiting{}{}",
                     analysis::printable(table_.target), table_.at_s, table_.cpus, table_.waiting,
                     table_.threads, allocated, frozen_ ? "  frozen" : "");
}

std::string TopScreen::row_text(const TopRow& row, std::size_t width) const {
  constexpr double kMegabyte = 1 << 20;
  const double unit = metric_ == TopMetric::kCpu ? 0.01 : metric_ == TopMetric::kAllocations ? kMegabyte : 1;
  const int decimals = metric_ == TopMetric::kCpu ? 1 : 2;
  std::string text =
      fmt::format("{:>7.{}f} {:>7.{}f}  ", row.self / unit, decimals, row.total / unit, decimals);
  text += analysis::printable(row.name);
  if (width == 0 || width >= 72)
    if (!row.module.empty()) text += "  " + analysis::printable(row.module);
  return text;
}

std::vector<std::string> TopScreen::lines(std::size_t width, std::size_t height) const {
  std::vector<std::string> lines{head()};
  lines.push_back(
      fmt::format("   self   total  function  ({}, by {})", unit_of(metric_), by_total_ ? "total" : "self"));
  const std::vector<const TopRow*> rows = chosen();
  for (const TopRow* row : rows) {
    if (lines.size() + 1 >= height) break;
    lines.push_back(row_text(*row, width));
  }
  while (lines.size() + 1 < height) lines.emplace_back();
  lines.push_back(typing_ ? "filter: " + analysis::printable(filter_)
                  : !notice_.empty()
                      ? analysis::printable(notice_)
                      : (filter_.empty() ? "" : "only " + analysis::printable(filter_) + "  ") +
                            present::keys_line(present::Surface::kTop));
  lines.resize(std::min(lines.size(), height));
  for (std::string& line : lines) line = tui::cut(line, width);
  return lines;
}

std::vector<tui::ScreenLine> TopScreen::styled(std::size_t width, std::size_t height) const {
  constexpr double kHotShare = 0.05;
  constexpr std::size_t kHeadLines = 2;
  const std::vector<const TopRow*> rows = chosen();
  double all = 0;
  for (const TopRow* row : rows) all += row->self;
  std::vector<tui::ScreenLine> styled;
  for (std::string& line : lines(width, height)) {
    const std::size_t at = styled.size();
    tui::Style style = at == 0 ? tui::Style::kTitle : at == 1 ? tui::Style::kHead : tui::Style::kPlain;
    if (at + 1 == height)
      style = tui::Style::kStatus;
    else if (at >= kHeadLines && at - kHeadLines < rows.size() &&
             rows[at - kHeadLines]->self >= kHotShare * all)
      style = tui::Style::kHot;
    styled.push_back({std::move(line), style});
  }
  return styled;
}

std::string TopScreen::plain(std::size_t count) const {
  std::string text = head() + "\n";
  for (const TopMetric metric : {TopMetric::kCpu, TopMetric::kWaits, TopMetric::kAllocations}) {
    TopScreen of = *this;
    of.metric_ = metric;
    const std::vector<const TopRow*> rows = of.chosen();
    if (rows.empty()) continue;
    text += fmt::format("{}: self, total\n", unit_of(metric));
    for (std::size_t i = 0; i < std::min(count, rows.size()); ++i) text += of.row_text(*rows[i], 0) + "\n";
  }
  return text + "\n";
}

}  // namespace fathom::cli
