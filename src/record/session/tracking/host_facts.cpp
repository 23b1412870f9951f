#include "record/session/tracking/host_facts.h"

#include <sys/utsname.h>
#include <unistd.h>

#include "base/files.h"

namespace fathom::session {

std::map<std::string, std::string> host_facts() {
  std::map<std::string, std::string> facts;
  utsname name{};
  if (::uname(&name) == 0) {
    facts["host"] = name.nodename;
    facts["kernel"] = name.release;
    facts["machine"] = name.machine;
  }
  facts["cpus"] = std::to_string(::sysconf(_SC_NPROCESSORS_ONLN));
  if (const auto cpuinfo = read_file("/proc/cpuinfo")) {
    if (const auto at = cpuinfo->find("model name\t: "); at != std::string::npos)
      facts["cpu"] = cpuinfo->substr(at + 13, cpuinfo->find('\n', at) - at - 13);
  }
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_size = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_size > 0)
    facts["memory_bytes"] =
        std::to_string(static_cast<unsigned long long>(pages) * static_cast<unsigned long long>(page_size));
  return facts;
}

}  // namespace fathom::session
