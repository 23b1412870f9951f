// Names of the kernel's functions. Source: /proc/kallsyms, kernel/kallsyms.c.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/result.h"

namespace fathom::process {

struct KernelSymbol {
  ProcessAddress address;
  std::string name;
  std::string module;  // "nf_tables", "bpf"; empty for the kernel proper
  bool operator==(const KernelSymbol&) const = default;
};

// Functions only (types t, T, w, W), sorted by address; among several names of one address, the order of the
// text. kPermission when every address is 0: that is how the kernel hides them. Lines that do not parse are
// skipped.
Result<std::vector<KernelSymbol>> parse_kallsyms(std::string_view text);
Result<std::vector<KernelSymbol>> read_kallsyms(const std::string& path = "/proc/kallsyms");

// The same functions one by one in the order of the file, whose text (10 MB and more) is never held: what a
// recording of a short command took was this text, twice. The views are valid during the call.
struct KernelSymbolView {
  ProcessAddress address;
  std::string_view name, module;
};
Result<> visit_kallsyms(const std::function<void(const KernelSymbolView&)>& visit,
                        const std::string& path = "/proc/kallsyms");

}  // namespace fathom::process
