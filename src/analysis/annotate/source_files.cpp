#include "analysis/annotate/source_files.h"

#include <sys/stat.h>

#include "base/files.h"
#include "binary/symbolize/opened_files.h"

namespace fathom::annotate {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;
constexpr std::size_t kMostFiles = 2'000;
constexpr std::size_t kLongestLine = 400;

SourceFile read(const std::string& path, int program) {
  SourceFile file;
  if (path.empty() || path.front() != '/') {
    file.problem = "has no whole path in the debug information";
    return file;
  }
  const Fd fd = program < 0 ? Fd() : symbolize::PointedFiles("", program).open(path);
  if (!fd) {
    file.problem = program < 0 ? "is not opened, as the program that names it is not here"
                               : "is not on this machine, or may not be read";
    return file;
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) == 0) file.modified_unix_s = static_cast<std::uint64_t>(status.st_mtime);
  const Result<std::string> text = read_file(fd, path, kMostBytes);
  if (!text) {
    file.problem = "cannot be read";
    return file;
  }
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = std::min(text->find('\n', at), text->size());
    std::string line = text->substr(at, std::min(end - at, kLongestLine));
    const std::size_t last = line.find_last_not_of(" \t\r");
    line.resize(last == std::string::npos ? 0 : last + 1);
    std::string wide;
    for (const char c : line) wide += c == '\t' ? std::string(4, ' ') : std::string(1, c);
    file.lines.push_back(std::move(wide));
    at = end + 1;
  }
  return file;
}

}  // namespace

const SourceFile& SourceFiles::file(const std::string& path, int program) {
  const auto known = files_.find(path);
  if (known != files_.end()) return known->second;
  if (files_.size() >= kMostFiles) {
    static const SourceFile none{{}, "is one of too many files", 0};
    return none;
  }
  return files_.emplace(path, read(path, program)).first->second;
}

std::string SourceFiles::line(const std::string& path, std::uint32_t line, int program) {
  if (path.empty() || line == 0) return {};
  const SourceFile& found = file(path, program);
  return line <= found.lines.size() ? found.lines[line - 1] : std::string();
}

}  // namespace fathom::annotate
