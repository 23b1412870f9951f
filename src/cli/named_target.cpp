#include "cli/named_target.h"

#include <fmt/format.h>

#include "process/find.h"

namespace fathom::cli {

Result<std::int32_t> the_one_named(const std::string& name, const std::string& command) {
  const auto found = process::find_by_name(name);
  if (!found) return tl::unexpected<Error>(found.error());
  if (found->empty()) return tl::unexpected<Error>(process::no_process_named(name));
  if (found->size() == 1) return found->front().pid;
  std::string candidates;
  for (const auto& process : *found) candidates += "\n  " + process::describe(process);
  return fail(ErrorKind::kUsage,
              fmt::format("{} processes are named '{}':{}", found->size(), name, candidates),
              fmt::format("{} -p {}", command, found->front().pid));
}

}  // namespace fathom::cli
