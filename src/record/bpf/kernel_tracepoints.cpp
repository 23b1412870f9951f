#include "record/bpf/kernel_tracepoints.h"

#include <fcntl.h>
#include <linux/btf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/fd.h"

namespace fathom::sources {

bool kernel_has_tracepoint(std::string_view name) {
  return has_tracepoint("/sys/kernel/btf/vmlinux", name);
}

// The name of its type is in the table of strings at the end of the file. That is searched in pieces, each of which repeats the
// end of the one before.
bool has_tracepoint(const std::string& types_path, std::string_view name) {
  const Fd file(::open(types_path.c_str(), O_RDONLY | O_CLOEXEC));
  btf_header header{};
  if (file.get() < 0 || ::pread(file.get(), &header, sizeof(header), 0) != ssize_t{sizeof(header)} ||
      header.magic != BTF_MAGIC)
    return false;
  std::string wanted(1, '\0');
  wanted.append("btf_trace_").append(name).push_back('\0');
  std::uint64_t at = std::uint64_t{header.hdr_len} + header.str_off;
  const std::uint64_t end = at + header.str_len;
  std::vector<char> piece(std::max<std::size_t>(256 << 10, 2 * wanted.size()));
  while (at < end) {
    const ssize_t got = ::pread(file.get(), piece.data(), std::min<std::uint64_t>(piece.size(), end - at),
                                static_cast<off_t>(at));
    if (got < static_cast<ssize_t>(wanted.size())) return false;
    const std::string_view text(piece.data(), static_cast<std::size_t>(got));
    if (text.find(wanted) != std::string_view::npos) return true;
    at += text.size() - (wanted.size() - 1);
  }
  return false;
}

}  // namespace fathom::sources
