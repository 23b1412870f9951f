// A file that lines are appended to and that stays small: full, it becomes FILE.1, the one before FILE.2, and so on;
// the oldest goes. Each line is in the file when add() returns, so a killed watch has lost nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/result.h"
#include "base/safe_folder.h"

namespace fathom::watch {

struct LogBounds {
  std::uint64_t bytes = std::uint64_t{16} << 20;  // of one file
  int files = 4;                                  // old ones that are kept
};

class Log {
 public:
  // Appends to the file. `head`: the first line of each file; empty: none. A file with another first line is
  // set aside. Rejects a link, also a hard one, a device or a folder, a file of another user, one that
  // another watch writes to, and a folder in which others can put links (safe_folder.h). A new file is for
  // its owner alone (mode 0600).
  static Result<Log> open(std::string path, std::string head, LogBounds bounds = {});
  Result<> add(std::string_view line);

  // By the ending of its name: CSV, else JSON lines.
  static bool is_csv(std::string_view path) { return path.ends_with(".csv"); }

 private:
  explicit Log(SafeFolder folder) : folder_(std::move(folder)) {}
  Result<> begin_file();
  Result<> go_on();
  Result<> rotate();
  Result<> write(std::string_view text);

  SafeFolder folder_;  // held, so that it stays this folder
  std::string path_, name_, head_;
  std::optional<Account> owner_;
  LogBounds bounds_;
  Fd fd_;
  std::uint64_t size_ = 0;
};

}  // namespace fathom::watch
