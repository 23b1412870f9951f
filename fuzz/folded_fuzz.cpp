// Any bytes as folded stacks: rejected in one line, or read as a valid profile whose weight survives writing
// and reading it again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "formats/folded/folded.h"
#include "in_pieces.h"
#include "present/exports/folded_writer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<model::Profile> profile = formats::read_folded(text, "fuzz");
  formats::FoldedReader reader("fuzz");
  fuzz::check_in_pieces(reader, text, profile);
  if (!profile) {
    if (profile.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  if (!model::check(*profile)) std::abort();
  const analysis::CallTree tree = analysis::build_call_tree(*profile, {});
  const std::string written = present::write_folded(tree, {.mark_inlined = true, .mark_jit = true});
  if (written.empty()) {
    if (tree.total != 0) std::abort();
    return 0;
  }
  const Result<model::Profile> again = formats::read_folded(written, "again");
  if (!again || analysis::build_call_tree(*again, {}).total != tree.total) std::abort();
  return 0;
}
