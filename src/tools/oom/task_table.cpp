#include "tools/oom/task_table.h"

#include <algorithm>
#include <limits>

#include "base/parse.h"
#include "linux/process/fields.h"
#include "tools/oom/message_fields.h"

namespace fathom::oom {
namespace {

constexpr std::uint64_t kUsualPage = 4096;
constexpr std::size_t kMostColumns = 32;

// Takes "[  pid  ]" off the text, and gives what stands inside.
std::string_view take_bracket(std::string_view& text) {
  if (!text.starts_with('[')) return {};
  const std::size_t end = text.find(']');
  if (end == std::string_view::npos) return {};
  std::string_view inside = text.substr(1, end - 1);
  text.remove_prefix(end + 1);
  return process::next_field(inside);
}

}  // namespace

bool TaskTable::is_header(std::string_view message) {
  return take_bracket(message) == "pid" && message.ends_with(" name");
}

bool TaskTable::read(std::string_view message) {
  std::string_view text = message;
  const std::string_view pid = take_bracket(text);
  if (pid.empty()) return false;
  if (pid == "pid") {
    if (!is_header(message) || !rows_.empty()) return false;
    columns_ = {"pid"};
    for (auto field = process::next_field(text); !field.empty(); field = process::next_field(text))
      if (field != "name" && columns_.size() < kMostColumns) columns_.emplace_back(field);
    return true;
  }
  if (columns_.empty() || leading_digits(pid).size() != pid.size()) return false;
  Row row;
  row.cells.emplace_back(pid);
  while (row.cells.size() < columns_.size()) {
    const std::string_view field = process::next_field(text);
    if (field.empty()) return false;  // cut off
    row.cells.emplace_back(field);
  }
  process::skip_blanks(text);
  row.name = text;
  if (rows_.size() < kMostTasks) rows_.push_back(std::move(row));
  return true;
}

const std::string* TaskTable::cell(const Row& row, std::string_view column) const {
  const auto found = std::ranges::find(columns_, column);
  return found == columns_.end() ? nullptr : &row.cells[static_cast<std::size_t>(found - columns_.begin())];
}

std::uint64_t TaskTable::number(const Row& row, std::string_view column) const {
  const std::string* text = cell(row, column);
  return text == nullptr ? 0 : parse_number(*text).value_or(0);
}

std::uint64_t TaskTable::page_bytes(const std::vector<Kill>& kills) const {
  for (const Kill& kill : kills) {
    for (const Row& row : rows_) {
      const std::uint64_t pages = number(row, "total_vm");
      if (number(row, "pid") != static_cast<std::uint64_t>(kill.pid) || pages == 0) continue;
      // The mapped size hardly moves between table and kill.
      for (const std::uint64_t page : {kUsualPage, 2 * kUsualPage, 4 * kUsualPage, 16 * kUsualPage}) {
        const std::uint64_t bytes = times(pages, page);
        const std::uint64_t difference =
            bytes > kill.total_vm_bytes ? bytes - kill.total_vm_bytes : kill.total_vm_bytes - bytes;
        if (difference <= bytes / 8) return page;
      }
    }
  }
  return kUsualPage;
}

std::vector<Task> TaskTable::tasks(std::uint64_t page) const {
  std::vector<Task> tasks;
  for (const Row& row : rows_) {
    const auto id = [&](std::string_view column) {
      return static_cast<std::int64_t>(
          std::min<std::uint64_t>(number(row, column), std::numeric_limits<std::int32_t>::max()));
    };
    const auto part = [&](std::string_view column) {
      return cell(row, column) == nullptr ? std::nullopt : std::optional(times(number(row, column), page));
    };
    Task task;
    task.pid = id("pid");
    task.tgid = id("tgid");
    task.uid = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(number(row, "uid"), std::numeric_limits<std::uint32_t>::max()));
    task.total_vm_bytes = times(number(row, "total_vm"), page);
    task.rss_bytes = times(number(row, "rss"), page);
    task.anon_bytes = part("rss_anon");
    task.file_bytes = part("rss_file");
    task.shmem_bytes = part("rss_shmem");
    // A page of page tables is a page; their size in bytes is printed since 4.15.
    task.page_table_bytes = cell(row, "pgtables_bytes") != nullptr ? number(row, "pgtables_bytes")
                                                                   : times(number(row, "nr_ptes"), page);
    task.swap_bytes = times(number(row, "swapents"), page);
    if (const std::string* adjustment = cell(row, "oom_score_adj"))
      task.oom_score_adj = signed_after(*adjustment, "").value_or(0);
    task.name = row.name;
    tasks.push_back(std::move(task));
  }
  return tasks;
}

}  // namespace fathom::oom
