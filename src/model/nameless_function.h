// Names of functions of which only the bounds are known. symbolize gives "MODULE@fde+0xADDRESS#CODE", which is the same from
// one recording of a file to the next; people read "MODULE@0xADDRESS". CODE is a hash of the instructions without the
// addresses in them, by which another build's function is known to be the same one; without it, the code could not be read
// or is too short to tell functions apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fathom::model {

struct NamelessFunction {
  std::string_view module;  // "libsqlite3.so.0.8.6", or what is left of it in a short name
  std::string_view
      address;  // "a74f0": the ELF address at which it   std::string_view address;  // "a74f0": the ELF address at which it begins
  std::uint64_t code = 0;  // 0 if it is not known
};

// Of both forms; nothing for other names. The parts are those of `name`.
std::optional<NamelessFunction> nameless_function(std::string_view name);

// "libsqlite3@0xa74f0", without the version of a library.
std::string short_name(const NamelessFunction& function);

}  // namespace fathom::model
