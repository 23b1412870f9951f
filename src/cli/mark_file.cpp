#include "cli/mark_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "analysis/core/words.h"
#include "base/files.h"
#include "model/marks.h"

namespace fathom::cli {
namespace {

// Anybody who may write the file asks for room in the recording.
constexpr std::size_t kMostMarks = 1000;
constexpr std::size_t kLongestName = 100;  // bytes

}  // namespace

Result<MarkFile> MarkFile::open_file(const std::string& path) {
  // Opened both ways: so a pipe without a writer has no end of file yet, and opening it does not block.
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0600));
  if (file.get() < 0) return system_error("--marks: " + path, errno);
  if (::lseek(file.get(), 0, SEEK_END) < 0 && errno != ESPIPE) return system_error("--marks: " + path, errno);
  return MarkFile(std::move(file));
}

void MarkFile::look(std::uint64_t now_ns, model::Profile& profile) {
  last_ns_ = now_ns;
  std::array<char, 4096> buffer;
  const ssize_t count = ::read(file_.get(), buffer.data(), buffer.size());  // the rest comes the next time
  for (const char c :
       std::string_view(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)))) {
    if (c == '\n')
      take(profile);
    else if (line_.size() < kLongestName)
      line_ += c;
  }
}

void MarkFile::finish(model::Profile& profile) {
  look(last_ns_, profile);
  take(profile);
}

void MarkFile::take(model::Profile& profile) {
  const std::string name = analysis::printable(line_);
  line_.clear();
  if (name.empty() || marks_ == kMostMarks) return;
  ++marks_;
  const double at_s = static_cast<double>(last_ns_ - std::min(last_ns_, profile.meta.start_ns)) * 1e-9;
  profile.meta.facts[model::kMarksFact] += model::mark_line(at_s, name) + "\n";
}

}  // namespace fathom::cli
