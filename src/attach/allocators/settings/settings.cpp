#include "attach/allocators/settings/settings.h"

namespace fathom::allocators {

std::string_view prefix_in(std::string_view label) {
  const std::size_t open = label.find('('), close = label.find(')');
  if (close == std::string_view::npos || open >= close) return "";
  return label.substr(open + 1, close - open - 1);
}

std::string jemalloc_variable(std::string_view prefix) {
  std::string variable;
  for (const char letter : prefix)
    variable += letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  return variable + "MALLOC_CONF";
}

}  // namespace fathom::allocators
