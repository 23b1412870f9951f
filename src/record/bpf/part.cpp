#include "record/bpf/part.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <string>

#include "base/files.h"

namespace fathom::sources {

void DestroyLink::operator()(bpf_link* link) const {
  bpf_link__destroy(link);
}

Result<BpfLink> attach_program(bpf_program* program) {
  BpfLink link(bpf_program__attach(program));
  if (link == nullptr)
    return system_error(std::string("bpf: attaching ") + bpf_program__name(program), errno);
  return link;
}

std::size_t possible_cpus() {
  const int cpus = libbpf_num_possible_cpus();
  return static_cast<std::size_t>(cpus > 0 ? cpus : 1);
}

bool read_values_of_cpus(const bpf_map* map, void* values) {
  const std::uint32_t zero = 0;
  return bpf_map_lookup_elem(bpf_map__fd(map), &zero, values) == 0;
}

}  // namespace fathom::sources
