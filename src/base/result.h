// Result: how a module reports an error to its caller. tl::expected under one name of ours: g++ 12 has
// std::expected in C++23 mode only, and clang 14 cannot see it there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace fathom {

// What the caller can do about it. main() turns the kind into the exit status.
enum class ErrorKind : std::uint8_t { kSystem, kPermission, kNotFound, kMalformed, kUnsupported, kUsage };

struct Error {
  ErrorKind kind;
  std::string message;  // one line; names the file and the place in it
  std::string remedy;   // what to try next; empty if nothing better than the message is known
};

template <class T = void>
class [[nodiscard]] Result : public tl::expected<T, Error> {
  using tl::expected<T, Error>::expected;
};

inline tl::unexpected<Error> fail(ErrorKind kind, std::string message, std::string remedy = {}) {
  return tl::unexpected<Error>(Error{kind, std::move(message), std::move(remedy)});
}

// Each layer adds its own words: "app.fathom: block 12: ..."
inline tl::unexpected<Error> within(std::string_view where, Error error) {
  return fail(error.kind, std::string(where) + ": " + error.message, std::move(error.remedy));
}

}  // namespace fathom
