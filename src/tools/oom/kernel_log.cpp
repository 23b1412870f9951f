#include "tools/oom/kernel_log.h"

#include <fcntl.h>
#include <sys/klog.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/files.h"
#include "base/parse.h"

namespace fathom::oom {
namespace {

constexpr const char* kPath = "/dev/kmsg";
constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // the kernel keeps less
constexpr std::size_t kLongestRecord = 16 * 1024;

std::string drain(const Fd& fd, bool& has_gap) {
  std::string text;
  std::vector<char> buffer(kLongestRecord);
  while (text.size() < kMostBytes) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EPIPE) has_gap = true;  // older ones were overwritten meanwhile
    if (got < 0 && (errno == EINTR || errno == EPIPE)) continue;
    if (got <= 0) break;
    text += unescape_kmsg(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
  }
  return text;
}

// As dmesg did before there was /dev/kmsg; also in containers that lack the file.
Result<std::string> read_by_system_call() {
  constexpr int kReadAll = 3, kSize = 10;
  const int size = ::klogctl(kSize, nullptr, 0);
  if (size <= 0) return system_error("kernel log", errno);
  std::string text(static_cast<std::size_t>(size), '\0');
  const int got = ::klogctl(kReadAll, text.data(), size);
  if (got < 0) return system_error("kernel log", errno);
  text.resize(static_cast<std::size_t>(got));
  return text;
}

}  // namespace

std::string unescape_kmsg(std::string_view record) {
  std::string text;
  text.reserve(record.size());
  for (std::size_t i = 0; i < record.size(); ++i) {
    if (record[i] == '\\' && i + 3 < record.size() && record[i + 1] == 'x') {
      if (const auto value = parse_number<unsigned>(record.substr(i + 2, 2), 16)) {
        text += static_cast<char>(*value);
        i += 3;
        continue;
      }
    }
    text += record[i];
  }
  return text;
}

Result<std::string> read_kernel_log() {
  const Fd fd(::open(kPath, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  bool has_gap = false;
  if (fd) return drain(fd, has_gap);
  auto text = read_by_system_call();
  if (!text && text.error().kind == ErrorKind::kPermission)
    return fail(ErrorKind::kPermission, "the kernel log: this user may not read it",
                "run as root, or journalctl -k | fathom oom -");
  return text;
}

Result<KernelLogTail> KernelLogTail::open() {
  Fd fd(::open(kPath, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return system_error(kPath, errno);
  if (::lseek(fd.get(), 0, SEEK_END) < 0) return system_error(kPath, errno);
  return KernelLogTail(std::move(fd));
}

std::string KernelLogTail::take() {
  return drain(fd_, has_gap_);
}

}  // namespace fathom::oom
