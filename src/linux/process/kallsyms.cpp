#include "linux/process/kallsyms.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "base/fd.h"
#include "base/files.h"
#include "linux/process/fields.h"

namespace fathom::process {
namespace {

// Lines of the text, and whether there were only such without an address.
class Lines {
 public:
  std::optional<KernelSymbolView> parse(std::string_view line) {
    const auto address = parse_number(next_field(line), 16);
    const std::string_view type = next_field(line);
    const std::string_view name = next_field(line);
    if (!address || type.size() != 1 || name.empty()) return std::nullopt;
    if (*address == 0) {
      hidden_ = true;
      return std::nullopt;
    }
    if (std::string_view("tTwW").find(type[0]) == std::string_view::npos) return std::nullopt;
    std::string_view module = next_field(line);
    if (module.size() >= 2 && module.front() == '[' && module.back() == ']')
      module = module.substr(1, module.size() - 2);
    any_ = true;
    return KernelSymbolView{{*address}, name, module};
  }
  Result<> end() const {
    if (any_ || !hidden_) return {};
    return fail(ErrorKind::kPermission, "all addresses of kernel symbols are hidden",
                "sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1, or run as root");
  }

 private:
  bool hidden_ = false, any_ = false;
};

void sort(std::vector<KernelSymbol>& symbols) {
  std::stable_sort(symbols.begin(), symbols.end(),
                   [](const KernelSymbol& a, const KernelSymbol& b) { return a.address < b.address; });
}

}  // namespace

Result<std::vector<KernelSymbol>> parse_kallsyms(std::string_view text) {
  std::vector<KernelSymbol> symbols;
  Lines lines;
  std::string_view line;
  while (next_line(text, line))
    if (const auto symbol = lines.parse(line))
      symbols.push_back({symbol->address, std::string(symbol->name), std::string(symbol->module)});
  if (auto ended = lines.end(); !ended) return tl::unexpected(ended.error());
  sort(symbols);
  return symbols;
}

Result<> visit_kallsyms(const std::function<void(const KernelSymbolView&)>& visit, const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return system_error(path, errno);
  Lines lines;
  std::array<char, 64 * 1024> buffer;
  std::size_t kept = 0;  // of a line that has not ended yet
  for (bool ended = false; !ended;) {
    const ssize_t count = ::read(fd.get(), buffer.data() + kept, buffer.size() - kept);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(path, errno);
    ended = count == 0;
    std::string_view text(buffer.data(), kept + static_cast<std::size_t>(count));
    // Up to the last whole line; one that fills all of the buffer is none of the kernel's.
    const std::size_t last = text.rfind('\n');
    std::string_view whole = ended || (text.size() == buffer.size() && last == std::string_view::npos)
                                 ? text
                                 : text.substr(0, last == std::string_view::npos ? 0 : last + 1);
    const std::string_view rest = text.substr(whole.size());
    std::string_view line;
    while (next_line(whole, line))
      if (const auto symbol = lines.parse(line)) visit(*symbol);
    std::copy(rest.begin(), rest.end(), buffer.begin());
    kept = rest.size();
  }
  if (auto ended = lines.end(); !ended) return within(path, ended.error());
  return {};
}

Result<std::vector<KernelSymbol>> read_kallsyms(const std::string& path) {
  std::vector<KernelSymbol> symbols;
  const auto take = [&](const KernelSymbolView& symbol) {
    symbols.push_back({symbol.address, std::string(symbol.name), std::string(symbol.module)});
  };
  if (auto visited = visit_kallsyms(take, path); !visited) return tl::unexpected(visited.error());
  sort(symbols);
  return symbols;
}

}  // namespace fathom::process
