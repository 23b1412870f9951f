#include "record/bpf/cpu_events.h"

#include <bpf/libbpf.h>

#include <sys/ioctl.h>

#include <cerrno>
#include <utility>

#include "base/files.h"
#include "linux/perf/event.h"

namespace fathom::sources {

Result<> CpuEvents::add(int cpu, const perf_event_attr& attributes, const bpf_program* program,
                        const std::string& what, int output_fd, std::uint64_t cookie) {
  auto opened = open_event(attributes, -1, cpu, what);
  if (!opened) return tl::unexpected<Error>(opened.error());
  Fd fd = std::move(*opened);
  if (output_fd >= 0)
    (void)redirect_output(fd.get(), output_fd);  // else throttling is only seen as missing samples
  LIBBPF_OPTS(bpf_perf_event_opts, options, .bpf_cookie = cookie);
  BpfLink link(bpf_program__attach_perf_event_opts(program, fd.get(), &options));
  if (link == nullptr) return system_error("bpf: attaching to " + what, errno);
  events_[cpu].push_back({std::move(fd), std::move(link)});
  return {};
}

bool CpuEvents::set_period(std::uint64_t period) {
  bool taken = false;
  for (auto& [cpu, events] : events_)
    for (Linked& linked : events)
      taken = ::ioctl(linked.event.get(), PERF_EVENT_IOC_PERIOD, &period) == 0 || taken;
  return taken;
}

}  // namespace fathom::sources
