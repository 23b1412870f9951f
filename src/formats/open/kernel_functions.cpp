#include "formats/open/kernel_functions.h"

#include <fmt/format.h>

#include <span>

#include "base/cursor.h"
#include "base/files.h"
#include "linux/process/kallsyms.h"

namespace fathom::open {
namespace {

constexpr std::uint32_t kBuildIdNote = 3;  // NT_GNU_BUILD_ID

std::uint64_t aligned(std::uint64_t size) {
  return (size + 3) & ~std::uint64_t{3};
}

}  // namespace

std::string build_id_of_notes(std::string_view notes) {
  Cursor in(std::as_bytes(std::span(notes.data(), notes.size())));
  while (in.ok() && !in.at_end()) {
    const auto name_size = in.read<std::uint32_t>(), size = in.read<std::uint32_t>(),
               type = in.read<std::uint32_t>();
    Cursor name = in.sub(aligned(name_size));
    Cursor content = in.sub(aligned(size));
    if (!in.ok()) break;
    if (type != kBuildIdNote || name_size != 4 || name.read<std::uint32_t>() != 0x00554e47)
      continue;  // "GNU"
    std::string id;
    for (std::uint32_t i = 0; i < size; ++i) id += fmt::format("{:02x}", content.read<std::uint8_t>());
    return id;
  }
  return {};
}

std::vector<formats::PerfKernelFunction> functions_of_kernel(const formats::PerfKernel& kernel,
                                                             const KernelPlaces& places) {
  const Result<std::string> notes = read_file(places.notes);
  if (!notes || kernel.build_id.empty() || kernel.reference_address == 0) return {};
  // perf writes 20 bytes for any length of the id.
  const std::string here = build_id_of_notes(*notes);
  if (here.empty() || !kernel.build_id.starts_with(here)) return {};
  const Result<std::vector<process::KernelSymbol>> symbols = process::read_kallsyms(places.kallsyms);
  if (!symbols) return {};
  std::uint64_t reference_here = 0;
  for (const process::KernelSymbol& symbol : *symbols)
    if (symbol.module.empty() && symbol.name == kernel.reference) reference_here = symbol.address.value;
  if (reference_here == 0) return {};
  const std::uint64_t moved = kernel.reference_address - reference_here;
  std::vector<formats::PerfKernelFunction> functions;
  functions.reserve(symbols->size());
  for (const process::KernelSymbol& symbol : *symbols)
    if (moved == 0 || symbol.module.empty())
      functions.push_back({symbol.address.value + moved, symbol.name, symbol.module});
  return functions;
}

}  // namespace fathom::open
