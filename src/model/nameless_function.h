// Names of functions of which only the bounds are known. symbolize gives "MODULE@fde+0xADDRESS", which is the same from one
// recording of a file to the next; people read "MODULE@0xADDRESS".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fathom::model {

struct NamelessFunction {
  std::string_view module;   // "libsqlite3.so.0.8.6", or what is left of it in a short name
  std::string_view address;  // "a74f0": the ELF address at which it begins
};

// Of both forms; nothing for other names. The parts are those of `name`.
std::optional<NamelessFunction> nameless_function(std::string_view name);

// "libsqlite3@0xa74f0", without the version of a library.
std::string short_name(const NamelessFunction& function);

}  // namespace fathom::model
