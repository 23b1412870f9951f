#include "formats/import/source_names.h"

#include <utility>

#include "binary/symbolize/demangle.h"

namespace fathom::formats {

std::string_view SourceNames::of(std::string_view written) {
  std::string name = symbolize::source_name(written);
  if (name == written) return written;
  return texts_.emplace_back(std::move(name));
}

void SourceNames::replace_in(std::vector<model::Builder::NamedLine>& lines) {
  for (model::Builder::NamedLine& line : lines) line.function = of(line.function);
}

}  // namespace fathom::formats
