#include "linux/process/directory.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/files.h"
#include "linux/process/fields.h"

namespace fathom::process {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

Result<std::vector<int>> numbers_in(const std::string& path) {
  const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(path.c_str()));
  if (!directory) return system_error(path, errno);
  std::vector<int> numbers;
  errno = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (const auto number = parse_number<int>(entry->d_name)) numbers.push_back(*number);
  }
  if (errno != 0) return system_error(path, errno);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Result<std::string> read_link(const std::string& path) {
  std::string target(256, '\0');
  for (;;) {
    const ssize_t n = ::readlink(path.c_str(), target.data(), target.size());
    if (n < 0) return system_error(path, errno);
    if (static_cast<std::size_t>(n) < target.size()) {
      target.resize(static_cast<std::size_t>(n));
      return target;
    }
    target.resize(target.size() * 2);
  }
}

}  // namespace fathom::process
