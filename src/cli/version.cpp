#include "cli/version.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "base/arch/facts.h"
#include "binary/elf/module_file.h"
#include "fathom_commit.h"  // made by the build: FATHOM_COMMIT
#include "model/store/block.h"

namespace fathom::cli {
namespace {

// Read from the running file, so that it is true of a static program and of one with shared libraries.
std::string program_text() {
  const auto program = elf::ModuleFile::open("/proc/self/exe");
  if (!program) return {};
  const auto needed = program->elf().needed();
  const double megabytes = static_cast<double>(program->elf().bytes().size()) / 1e6;
  return fmt::format("\nprogram: {:.1f} MB, needs {}", megabytes,
                     needed.empty() ? "no shared library" : fmt::format("{}", fmt::join(needed, " ")));
}

}  // namespace

std::string version_text() {
  constexpr std::string_view kCommit = FATHOM_COMMIT;
  std::string text = "fathom " FATHOM_VERSION;
  if (!kCommit.empty()) text += fmt::format(" (commit {})", kCommit);
  text += "\nengines: ";
#ifdef FATHOM_HAS_RECORD
  text += arch::kSupported ? "bpf, perf, proc; heap tracing" : "none for this processor";
#else
  text += "none: this fathom reads recordings";
#endif
  text += fmt::format("\nrecordings: writes format {}.{}, reads {}.*", store::kMajor, store::kMinor,
                      store::kMajor);
  return text + program_text();
}

}  // namespace fathom::cli
