// Any text as the fact of a recording about stuck threads: every verdict must be about threads that are there, and have a sentence.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "analysis/stacks/kept_look.h"
#include "present/sentences/stacks_sentences.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom;
  const stacks::Look look = stacks::look_of_fact(std::string_view(reinterpret_cast<const char*>(data), size));
  for (const stacks::Verdict& verdict : look.verdicts) {
    for (const std::size_t row : verdict.threads)
      if (row >= look.threads.size()) std::abort();
    (void)present::verdict_sentence(look, verdict);
    (void)present::verdict_lines(look, verdict);
  }
  return 0;
}
