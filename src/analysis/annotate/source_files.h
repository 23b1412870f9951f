// Lines of source files of this machine. The paths are a stranger's words, as debug information holds them: a file is opened
// with no more rights than the owner of the program has that names it, and only if it is a regular file of a sane size.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fathom::annotate {

struct SourceFile {
  std::vector<std::string> lines;
  std::string problem;  // "is not on this machine"; "" where the lines are there
  std::uint64_t modified_unix_s = 0;
};

class SourceFiles {
 public:
  // `program`: an open file, that of the program whose debug information names sources; -1: there is none, and then nothing
  // is opened.
  const SourceFile& file(const std::string& path, int program);
  // Trimmed at its right; "" where there is none.
  std::string line(const std::string& path, std::uint32_t line, int program);
  const std::map<std::string, SourceFile>& files() const { return files_; }

 private:
  std::map<std::string, SourceFile> files_;
};

}  // namespace fathom::annotate
