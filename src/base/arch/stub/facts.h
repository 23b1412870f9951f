// No processor: lacks everything that is specific to one, so that the rest compiles.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string_view>

namespace fathom::arch {

inline constexpr bool kSupported = false;  // nothing can be recorded on it
inline constexpr std::string_view kName = "this processor";
inline constexpr std::string_view kMachine = "none";  // as uname says: never this
inline constexpr std::uint16_t kElfMachine = EM_NONE;
inline constexpr std::string_view kLibraryFolder = "none";

inline constexpr std::uint64_t kPageBytes = 4096;
inline constexpr std::uint64_t kUserEnd = 0x7fff'ffff'0000;

}  // namespace fathom::arch
