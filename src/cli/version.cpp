#include "cli/version.h"

#include <fmt/format.h>

#include <string_view>

#include "arch/facts.h"
#include "fathom_commit.h"  // made by the build: FATHOM_COMMIT
#include "store/block.h"

namespace fathom::cli {

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
  return text;
}

}  // namespace fathom::cli
