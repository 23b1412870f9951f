#include "record/bpf/load_error.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/files.h"
#include "linux/perf/event.h"

namespace fathom::sources {
namespace {

constexpr std::string_view kLogBegins = "-- BEGIN PROG LOAD LOG --\n", kLogEnds = "-- END PROG LOAD LOG --";

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

// "sample_cpu" of "libbpf: prog 'sample_cpu': ..."
std::string_view refused_program(std::string_view text) {
  constexpr std::string_view kBefore = "prog '";
  const auto at = text.find(kBefore);
  if (at == std::string_view::npos) return "?";
  text.remove_prefix(at + kBefore.size());
  return text.substr(0, text.find('\''));
}

// The verifier's verdict: the last line of its log before its statistics; empty: there is no log.
std::string_view verdict_in(std::string_view text) {
  const auto begin = text.find(kLogBegins);
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin + kLogBegins.size());
  text = text.substr(0, text.find(kLogEnds));
  std::string_view verdict;
  while (!text.empty()) {
    const std::string_view line = first_line(text);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with("processed ")) break;
    if (!line.empty()) verdict = line;
  }
  return verdict;
}

}  // namespace

bool kernel_is_at_least(int major, int minor) {
  utsname name{};
  std::pair version(0, 0);
  return ::uname(&name) == 0 && std::sscanf(name.release, "%d.%d", &version.first, &version.second) == 2 &&
         version >= std::pair(major, minor);
}

KernelFacts look_at_kernel() {
  rlimit limit{};
  const auto lockdown = read_file("/sys/kernel/security/lockdown");
  return {.short_of_locked_memory = !kernel_is_at_least(5, 11) && ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
                                    limit.rlim_cur != RLIM_INFINITY,
          .has_btf = ::access("/sys/kernel/btf/vmlinux", R_OK) == 0,
          .hides_memory = lockdown && lockdown->find("[confidentiality]") != std::string::npos,
          .remedy_for_rights = remedy_for_rights(false)};
}

Error explain_load_error(int error_number, std::string_view text, const KernelFacts& facts) {
  const std::string_view verdict = verdict_in(text);
  if (error_number == EPERM && facts.short_of_locked_memory)
    return {ErrorKind::kPermission,
            "bpf: before Linux 5.11 the programs' tables need locked memory, and this user may lock little",
            "run as root, or raise the limit first: ulimit -l unlimited"};
  if ((error_number == EPERM || error_number == EACCES) && verdict.empty())
    return {ErrorKind::kPermission, "bpf: this user may not load BPF programs", facts.remedy_for_rights};
  if (facts.hides_memory)
    return {ErrorKind::kUnsupported,
            "bpf: the kernel is locked down (confidentiality): BPF programs may not read its memory",
            "boot with lockdown=integrity on the kernel's command line"};
  if (!facts.has_btf)
    return {ErrorKind::kUnsupported,
            "bpf: the kernel does not describe its types: there is no /sys/kernel/btf/vmlinux",
            "a kernel with CONFIG_DEBUG_INFO_BTF=y, such as Debian's"};
  if (error_number == EAGAIN)
    return {ErrorKind::kSystem, "bpf: signals interrupted the loading of the programs again and again",
            "try again"};
  if (!verdict.empty())
    return {
        ErrorKind::kUnsupported,
        fmt::format("bpf: the kernel's verifier refused the program {}: {}", refused_program(text), verdict),
        "fathom doctor names what this kernel lacks; kernels since 5.10 with BTF are known to work"};
  const std::string_view why = first_line(text);
  return {ErrorKind::kUnsupported,
          fmt::format("bpf: the kernel refused the programs: {}{}{}", std::strerror(error_number),
                      why.empty() ? "" : "; ", why),
          "fathom doctor names what this kernel lacks; kernels since 5.10 with BTF are known to work"};
}

}  // namespace fathom::sources
