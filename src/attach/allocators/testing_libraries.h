// For tests only: the allocators that the distribution has, and what a test asks of them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>

namespace fathom::allocators::testing {

// The first of the paths that exists.
inline std::optional<std::string> first_of(std::initializer_list<const char*> paths) {
  for (const char* path : paths)
    if (std::filesystem::exists(path)) return path;
  return std::nullopt;
}
inline std::optional<std::string> libjemalloc() {
  return first_of({"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "/usr/lib64/libjemalloc.so.2"});
}
inline std::optional<std::string> libmimalloc() {
  return first_of({"/usr/lib/x86_64-linux-gnu/libmimalloc.so.2.0",
                   "/usr/lib/x86_64-linux-gnu/libmimalloc.so.2", "/usr/lib64/libmimalloc.so.2"});
}
inline std::optional<std::string> libtcmalloc() {
  return first_of(
      {"/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4", "/usr/lib64/libtcmalloc_minimal.so.4"});
}
inline std::optional<std::string> glibc() {
  return first_of({"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6"});
}
inline std::optional<std::string> libstdcxx() {
  return first_of({"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib64/libstdc++.so.6"});
}
inline std::optional<std::string> musl() {
  return first_of({"/lib/ld-musl-x86_64.so.1"});
}
// An Ethereum node in Rust with jemalloc inside: named by ANVIL.
inline std::optional<std::string> anvil() {
  const char* path = std::getenv("ANVIL");  // NOLINT(concurrency-mt-unsafe): never set here
  if (path == nullptr || !std::filesystem::exists(path)) return std::nullopt;
  return path;
}

}  // namespace fathom::allocators::testing

#define FATHOM_NEEDS(path, what) \
  if (!(path)) GTEST_SKIP() << "needs " << (what)
