// The kernel's table of candidates: a header that names its columns, and a row for each task. Its columns changed five
// times since 3.2, so each row is read by the header. Sizes are in pages, and the size of a page is nowhere said.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/oom/records.h"

namespace fathom::oom {

class TaskTable {
 public:
  // "[ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name"
  static bool is_header(std::string_view message);
  // Takes a header or a row; false: it is neither.
  bool read(std::string_view message);

  // What a page is, by a killed process whose size in kB is known; 4 KiB where none is.
  std::uint64_t page_bytes(const std::vector<Kill>& kills) const;
  std::vector<Task> tasks(std::uint64_t page_bytes) const;

 private:
  struct Row {
    std::vector<std::string> cells;  // of the columns, the pid first
    std::string name;
  };
  const std::string* cell(const Row& row, std::string_view column) const;
  std::uint64_t number(const Row& row, std::string_view column) const;
  std::vector<std::string> columns_;  // without the name, which is the last and may hold blanks
  std::vector<Row> rows_;
};

}  // namespace fathom::oom
