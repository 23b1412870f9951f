// Lines of a log that match a pattern, from now on: what `tail -F` shows. It follows a file that is renamed or cut short.
#pragma once

#include <sys/types.h>

#include <optional>
#include <regex>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::serve {

class LogWatch {
 public:
  // "FILE:REGEX", where the pattern is one of ECMAScript. The file may come later. kUsage: there is no colon, or a broken pattern.
  static Result<LogWatch> open(std::string_view text);
  // The first matching line since the last call, cut to 200 bytes; all lines up to now are taken. Does not wait.
  std::optional<std::string> take();
  // A sentence if the file cannot be read now. It is watched from its beginning once it can.
  std::optional<std::string> problem() const;

 private:
  LogWatch(std::string path, std::regex pattern) : path_(std::move(path)), pattern_(std::move(pattern)) {}
  void follow();

  std::string path_;
  std::regex pattern_;
  Fd fd_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  off_t offset_ = 0;
  bool begun_ = false;  // what was there before is not read
  std::string line_;
};

}  // namespace fathom::serve
