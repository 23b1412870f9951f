#include "attach/inject/tracer/kept_address.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "attach/inject/plan/placement.h"

namespace fathom::inject {
namespace {

constexpr std::size_t kPagesAtOnce = 256;
constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;  // Documentation/admin-guide/mm/pagemap.rst
constexpr std::uint64_t kLargestGuard = std::uint64_t{1} << 20;

// A thread's stack is directly above its guard page.
bool is_stack(std::span<const process::MapEntry> maps, std::size_t index) {
  if (maps[index].path == "[stack]") return true;
  if (index == 0 || maps[index].is_file()) return false;
  const auto& below = maps[index - 1];
  return below.end == maps[index].start && !below.readable && !below.writable && !below.executable &&
         below.size() <= kLargestGuard;
}

// A program's variables: the writable part of a file, and the zeroed rest directly after it.
bool is_module_data(std::span<const process::MapEntry> maps, std::size_t index) {
  return maps[index].is_file() ||
         (index > 0 && maps[index - 1].is_file() && maps[index - 1].end == maps[index].start);
}

class Search {
 public:
  Search(const RemoteMemory& memory, std::span<const std::uint64_t> addresses)
      : memory_(memory), addresses_(addresses) {
    lowest_ = *std::min_element(addresses.begin(), addresses.end());
    highest_ = *std::max_element(addresses.begin(), addresses.end());
  }

  bool holds(std::uint64_t start, std::uint64_t bytes) {
    words_.resize(bytes / sizeof(std::uint64_t));
    const auto read = memory_.read_some({start}, std::as_writable_bytes(std::span(words_)));
    const std::span<const std::uint64_t> words(words_.data(), read / sizeof(std::uint64_t));
    return std::any_of(words.begin(), words.end(), [&](std::uint64_t word) {
      return word >= lowest_ && word <= highest_ &&
             std::find(addresses_.begin(), addresses_.end(), word) != addresses_.end();
    });
  }

 private:
  const RemoteMemory& memory_;
  std::span<const std::uint64_t> addresses_;
  std::uint64_t lowest_, highest_;
  std::vector<std::uint64_t> words_;
};

}  // namespace

bool keeps_address(int pid, const RemoteMemory& memory, std::span<const process::MapEntry> maps,
                   std::span<const std::uint64_t> addresses) {
  if (addresses.empty()) return false;
  struct Part {
    bool rest;
    std::uint64_t bytes, start;
  };
  std::vector<Part> parts;
  for (std::size_t i = 0; i < maps.size(); ++i)
    if (maps[i].writable && maps[i].readable && !maps[i].shared && !is_stack(maps, i))
      parts.push_back({!is_module_data(maps, i), maps[i].size(), maps[i].start.value});
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.rest != b.rest ? b.rest : a.bytes < b.bytes; });

  const Fd pagemap(::open(fmt::format("/proc/{}/pagemap", pid).c_str(), O_RDONLY | O_CLOEXEC));
  Search search(memory, addresses);
  std::uint64_t left = kKeptAddressBudget;
  std::vector<std::uint64_t> pages(kPagesAtOnce);
  for (const Part& part : parts)
    for (std::uint64_t at = part.start, end = part.start + part.bytes; at < end; at += kPagesAtOnce * kPage) {
      const std::size_t count = std::min<std::size_t>(kPagesAtOnce, (end - at) / kPage);
      const ssize_t got = ::pread(pagemap.get(), pages.data(), count * sizeof(pages[0]),
                                  static_cast<off_t>(at / kPage * sizeof(pages[0])));
      if (got <= 0) break;
      const std::size_t known = static_cast<std::size_t>(got) / sizeof(pages[0]);
      for (std::size_t first = 0; first < known;) {
        const auto present = [&](std::size_t i) { return i < known && (pages[i] & kPresent) != 0; };
        std::size_t last = first;
        while (present(last)) ++last;
        const std::uint64_t bytes = (last - first) * kPage;
        if (bytes > left) return false;
        if (bytes != 0 && search.holds(at + first * kPage, bytes)) return true;
        left -= bytes;
        first = last + 1;
      }
    }
  return false;
}

}  // namespace fathom::inject
