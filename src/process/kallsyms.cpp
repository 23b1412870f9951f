#include "process/kallsyms.h"

#include <algorithm>

#include "base/files.h"
#include "process/fields.h"

namespace fathom::process {

Result<std::vector<KernelSymbol>> parse_kallsyms(std::string_view text) {
  std::vector<KernelSymbol> symbols;
  bool hidden = false;
  std::string_view line;
  while (next_line(text, line)) {
    const auto address = parse_number(next_field(line), 16);
    const std::string_view type = next_field(line);
    const std::string_view name = next_field(line);
    if (!address || type.size() != 1 || name.empty()) continue;
    if (*address == 0) {
      hidden = true;
      continue;
    }
    if (std::string_view("tTwW").find(type[0]) == std::string_view::npos) continue;
    std::string_view module = next_field(line);
    if (module.size() >= 2 && module.front() == '[' && module.back() == ']')
      module = module.substr(1, module.size() - 2);
    symbols.push_back({{*address}, std::string(name), std::string(module)});
  }
  if (symbols.empty() && hidden)
    return fail(ErrorKind::kPermission, "all addresses of kernel symbols are hidden",
                "sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1, or run as root");
  std::stable_sort(symbols.begin(), symbols.end(),
                   [](const KernelSymbol& a, const KernelSymbol& b) { return a.address < b.address; });
  return symbols;
}

Result<std::vector<KernelSymbol>> read_kallsyms(const std::string& path) {
  auto text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  auto symbols = parse_kallsyms(*text);
  if (!symbols) return within(path, symbols.error());
  return symbols;
}

}  // namespace fathom::process
