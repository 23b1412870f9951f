// The environment that a program was started with. Source: proc(5), /proc/PID/environ.
//
// The target chooses its size and can change it at any time, and each read reads its memory: so it is read
// once, and up to a limit.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace fathom::process {

inline constexpr std::size_t kMostStartText = std::size_t{1} << 20;  // of an environment or a command line

// What a file begins with, at most `most` bytes. nullopt: it cannot be read.
std::optional<std::string> read_beginning(const std::string& path, std::size_t most);

// `setting`: "NAME=VALUE". `environ` is the file's text.
bool has_setting(std::string_view environ, std::string_view setting);

class Environment {
 public:
  explicit Environment(int pid) : pid_(pid) {}
  // False where it cannot be read. Reads at the first question.
  bool has(std::string_view setting);

 private:
  int pid_;
  std::optional<std::string> text_;
};

}  // namespace fathom::process
