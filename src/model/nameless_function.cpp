#include "model/nameless_function.h"

#include "base/parse.h"

namespace fathom::model {

std::optional<NamelessFunction> nameless_function(std::string_view name) {
  const std::size_t mark = name.rfind('@');
  if (mark == name.npos || mark == 0) return std::nullopt;
  std::string_view address = name.substr(mark + 1);
  if (address.starts_with("fde+")) address.remove_prefix(4);
  if (!address.starts_with("0x")) return std::nullopt;
  address.remove_prefix(2);
  std::uint64_t code = 0;
  if (const std::size_t at = address.find('#'); at != address.npos) {
    const auto digits = parse_number(address.substr(at + 1), 16);
    if (!digits) return std::nullopt;
    code = *digits;
    address = address.substr(0, at);
  }
  if (address.empty() || address.find_first_not_of("0123456789abcdef") != address.npos) return std::nullopt;
  return NamelessFunction{name.substr(0, mark), address, code};
}

std::string short_name(const NamelessFunction& function) {
  std::string_view module = function.module;
  if (const std::size_t version = module.find(".so"); version != module.npos && version != 0)
    module = module.substr(0, version);
  std::string text(module);
  text += "@0x";
  text += function.address;
  return text;
}

}  // namespace fathom::model
