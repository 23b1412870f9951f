// Names that the symbolizer found, put into the profile of a look. Functions of which only the bounds are known get the short name
// that people read: a look is not kept, so nothing has to find them again in another recording.
#pragma once

#include <string>
#include <vector>

#include "model/nameless_function.h"
#include "model/profile.h"

namespace fathom::stacks {

// `Names`: of symbolize::Name, innermost first.
template <class Names>
void name_frame(model::Builder& builder, model::FrameId frame, const Names& names) {
  std::vector<std::string> functions;
  functions.reserve(names.size());
  std::vector<model::Builder::NamedLine> lines;
  for (const auto& name : names) {
    const auto nameless = model::nameless_function(name.function);
    functions.push_back(nameless ? model::short_name(*nameless) : name.function);
    lines.push_back({functions.back(), name.file, name.line});
  }
  builder.name_frame(frame, lines);
}

}  // namespace fathom::stacks
