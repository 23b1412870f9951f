// What the command of `record --load` prints, as the recording keeps it: the beginning and the end of it, without what looks like
// a secret, and the lines that look like errors. A load generator that fails makes a recording of an idle program, so its own words
// belong to the recording. Pure; the text is untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fathom::cli {

class LoadOutput {
 public:
  static constexpr std::size_t kHead = 4 << 10,
                               kTail = 12 << 10;    // bytes kept of the beginning and of the end
  static constexpr std::size_t kLongestLine = 500;  // bytes kept of a line

  void take(std::string_view bytes);
  // The last line may have no end.
  void finish();

  // At most kHead + kTail bytes, and a line that counts what is missing between them.
  std::string text() const;
  std::uint64_t bytes() const { return bytes_; }  // all that was printed
  const std::string& last_line() const { return last_line_; }
  std::uint64_t error_lines() const { return error_lines_; }
  const std::string& first_error() const { return first_error_; }

 private:
  void end_line();

  std::string line_, last_line_, first_error_, head_, tail_;
  bool head_full_ = false;
  std::uint64_t bytes_ = 0, error_lines_ = 0, left_out_ = 0;
};

// A shell command as a recording keeps it: in the place of what looks like a secret stands "***" (linux/process/command_line.h).
std::string load_command_line(const std::string& command);

// Whether a line reads like the report of an error: "Error: nonce too low", "3 requests failed". Not "0 errors", "failed: 0".
bool looks_like_error(std::string_view line);

}  // namespace fathom::cli
