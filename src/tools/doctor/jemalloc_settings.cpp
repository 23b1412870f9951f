#include "tools/doctor/jemalloc_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "analysis/core/words.h"
#include "base/parse.h"
#include "linux/process/environment.h"

namespace fathom::doctor {
std::vector<std::pair<std::string, std::string>> malloc_conf_variables(std::string_view environ) {
  std::vector<std::pair<std::string, std::string>> found;
  while (!environ.empty()) {
    const std::string_view row = take_until(environ, '\0');
    const std::size_t equals = row.find('=');
    if (equals == std::string_view::npos || !row.substr(0, equals).ends_with("MALLOC_CONF")) continue;
    found.emplace_back(row.substr(0, equals), row.substr(equals + 1));
  }
  return found;
}

std::string prefix_of(const std::vector<std::string>& functions) {
  for (const std::string_view name : {"mallocx", "malloc"})
    for (const std::string& function : functions)
      if (function.ends_with(name)) return function.substr(0, function.size() - name.size());
  return "";
}

std::vector<JemallocFact> jemallocs_of(int pid, const TargetFacts& target) {
  std::vector<JemallocFact> facts;
  for (const AllocatorFact& allocator : target.allocators) {
    if (!is_jemalloc(allocator)) continue;
    JemallocFact fact{allocator.label, allocator.module, prefix_of(allocator.functions), {}, {}, ""};
    const std::string root = fmt::format("/proc/{}/root", pid);
    fact.profiling = allocator.profiling;
    if (const auto environ =
            process::read_beginning(fmt::format("/proc/{}/environ", pid), process::kMostStartText))
      fact.environment = malloc_conf_variables(*environ);
    std::error_code ignored;
    fact.link = std::filesystem::read_symlink(root + "/etc/" + fact.prefix + "malloc.conf", ignored).string();
    fact.root = root;
    facts.push_back(std::move(fact));
  }
  return facts;
}

MallocConfTarget conf_target_of(const JemallocFact& fact) {
  MallocConfTarget target;
  target.prefix = fact.prefix;
  target.profiling = fact.profiling;
  target.running = true;
  target.folder_exists = [root = fact.root](const std::string& folder) {
    std::error_code ignored;
    return std::filesystem::is_directory(root + folder, ignored);
  };
  return target;
}

std::string to_text(const JemallocFact& fact) {
  const std::string variable = variable_of(fact.prefix);
  std::string out = fmt::format(
      "\n{} in {}\n  {}; it reads {} when the program starts, {}\n", fact.label, fact.module,
      !fact.profiling   ? "its file cannot be read, so it is unknown whether it can write heap dumps"
      : *fact.profiling ? "built with profiling: it can write heap dumps"
                        : "built without profiling: it cannot write heap dumps",
      variable,
      fact.link.empty() ? fmt::format("there is no /etc/{}malloc.conf", fact.prefix)
                        : fmt::format("and /etc/{}malloc.conf says {}", fact.prefix, fact.link));
  bool read = false;
  for (const auto& [name, value] : fact.environment) {
    const bool reads = name == variable;
    read = read || reads;
    out +=
        fmt::format("  {}={}{}\n", name, value,
                    reads ? "" : fmt::format("   not read by this allocator, which looks at {}", variable));
    if (reads)
      out += to_text(check_malloc_conf(value, [&] {
        MallocConfTarget target = conf_target_of(fact);
        target.running = false;  // it was there when the program started
        return target;
      }()));
  }
  if (!read)
    out += fmt::format("  {} was not set; the program may have settings built in (malloc_conf)\n", variable);
  return analysis::printable_lines(out);  // environment, link and paths are the target's
}

}  // namespace fathom::doctor
