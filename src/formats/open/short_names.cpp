#include "formats/open/short_names.h"

#include "model/nameless_function.h"

namespace fathom::open {

std::vector<std::uint64_t> shorten_nameless_functions(model::Profile& profile) {
  std::vector<std::uint64_t> codes;
  for (std::size_t i = 0; i < profile.functions.size(); ++i) {
    const auto nameless = model::nameless_function(profile.strings[profile.functions[i].name]);
    if (!nameless) continue;
    if (nameless->code != 0) {
      codes.resize(profile.functions.size(), 0);
      codes[i] = nameless->code;
    }
    profile.functions[i].name = profile.strings.intern(model::short_name(*nameless));
  }
  return codes;
}

}  // namespace fathom::open
