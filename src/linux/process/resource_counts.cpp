#include "linux/process/resource_counts.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/files.h"
#include "linux/process/directory.h"
#include "linux/process/fields.h"
#include "linux/process/status.h"

namespace fathom::process {
namespace {

constexpr std::uint64_t kMostCountedDescriptors = 16'000'000;  // more than the kernel lets anyone have
constexpr std::size_t kMostStates = 256;
constexpr std::size_t kMostChildrenText = 8 * 1024 * 1024;

}  // namespace

std::optional<std::uint64_t> count_descriptors(std::int32_t pid) {
  const std::string path = fmt::format("/proc/{}/fd", pid);
  // Kernels since 6.2 give their number as the folder's size.
  if (struct stat info; ::stat(path.c_str(), &info) == 0 && info.st_size > 0)
    return static_cast<std::uint64_t>(info.st_size);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (!folder) return std::nullopt;
  std::uint64_t count = 0;
  while (const dirent* entry = ::readdir(folder.get()))
    if (entry->d_name[0] != '.' && ++count == kMostCountedDescriptors) break;
  return count;
}

std::optional<std::uint64_t> count_threads(std::int32_t pid) {
  // The folder's own two links, and one for each thread.
  struct stat info {};
  if (::stat(fmt::format("/proc/{}/task", pid).c_str(), &info) != 0 || info.st_nlink < 3) return std::nullopt;
  return info.st_nlink - 2;
}

std::optional<ChildCounts> count_children(std::int32_t pid) {
  const std::string folder = fmt::format("/proc/{}/task", pid);
  const auto threads = numbers_in(folder);
  if (!threads) return std::nullopt;
  std::vector<std::int32_t> children;
  bool known = false;
  for (const int tid : *threads) {
    const auto text = read_file(fmt::format("{}/{}/children", folder, tid), kMostChildrenText);
    if (!text) continue;  // the thread has ended
    known = true;
    std::string_view rest = *text;
    for (std::string_view field = next_field(rest); !field.empty(); field = next_field(rest))
      if (const auto child = parse_number<std::int32_t>(field)) children.push_back(*child);
  }
  if (!known) return std::nullopt;
  ChildCounts counts{children.size(), 0};
  const std::size_t step = std::max<std::size_t>(1, (children.size() + kMostStates - 1) / kMostStates);
  std::size_t asked = 0, zombies = 0;
  for (std::size_t i = 0; i < children.size(); i += step) {
    const auto stat = read_stat(children[i]);
    if (!stat) continue;
    ++asked;
    zombies += stat->state == 'Z' ? 1 : 0;
  }
  if (asked != 0) counts.zombies = zombies * children.size() / asked;
  return counts;
}

std::string descriptor_kind(std::string_view link) {
  constexpr std::string_view kInode = "anon_inode:", kDeleted = " (deleted)";
  if (link.starts_with(kInode)) {
    link.remove_prefix(kInode.size());
    if (link.starts_with('[') && link.ends_with(']')) link = link.substr(1, link.size() - 2);
    return std::string(link);
  }
  if (!link.starts_with('/')) return std::string(link.substr(0, link.find(':')));
  if (link.ends_with(kDeleted)) link.remove_suffix(kDeleted.size());
  return std::string(link);
}

std::map<std::string, std::size_t> kinds_of_newest_descriptors(std::int32_t pid, std::size_t most) {
  std::map<std::string, std::size_t> kinds;
  const std::string folder = fmt::format("/proc/{}/fd", pid);
  const auto numbers = numbers_in(folder);
  if (!numbers) return kinds;
  for (std::size_t i = numbers->size() - std::min(most, numbers->size()); i < numbers->size(); ++i)
    if (const auto link = read_link(fmt::format("{}/{}", folder, (*numbers)[i])))
      ++kinds[descriptor_kind(*link)];
  return kinds;
}

}  // namespace fathom::process
