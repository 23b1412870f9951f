// Which tracepoints the running kernel has. Loading a program for one that it lacks would fail as a whole.
#pragma once

#include <string>
#include <string_view>

namespace fathom::sources {

// Whether a program of kind tp_btf can be attached there. False as well if the kernel does not publish its types. 1 to 2 ms: libbpf
// would need more, as it reads all types.
bool kernel_has_tracepoint(std::string_view name);
// The same with the kernel's types in another file.
bool has_tracepoint(const std::string& types_path, std::string_view name);

}  // namespace fathom::sources
