// What sets this processor apart, in a few words and numbers.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string_view>

namespace fathom::arch {

inline constexpr bool kSupported = true;  // false: nothing can be recorded on it
inline constexpr std::string_view kName = "x86-64";
inline constexpr std::string_view kMachine = "x86_64";  // as uname says
inline constexpr std::uint16_t kElfMachine = EM_X86_64;
inline constexpr std::string_view kLibraryFolder = "x86_64-linux-gnu";  // of Debian, below /lib and /usr/lib

// Bytes of a page, and where user addresses end with four levels of page tables.
inline constexpr std::uint64_t kPageBytes = 4096;
inline constexpr std::uint64_t kUserEnd = 0x7fff'ffff'0000;

}  // namespace fathom::arch
