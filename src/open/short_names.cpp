#include "open/short_names.h"

#include "model/nameless_function.h"

namespace fathom::open {

void shorten_nameless_functions(model::Profile& profile) {
  for (model::Function& function : profile.functions)
    if (const auto nameless = model::nameless_function(profile.strings[function.name]))
      function.name = profile.strings.intern(model::short_name(*nameless));
}

}  // namespace fathom::open
