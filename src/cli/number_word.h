// Options that are sizes or counts. CLI11 reads "-5" as 2^64 - 5, and a number beyond 64 bits as the largest of them, where the
// option is an unsigned number of 64 bits; these checks refuse both.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace fathom::cli {

// For `->transform(...)` of an option that is a number of bytes: "4096", "500m", "1.5g", "64 KiB"; units are powers of 1024, in
// capital or small letters. The text becomes the number of bytes, at most 2^60.
enum class SizeZero : std::uint8_t { kAllowed, kRefused };
CLI::Validator size_word(SizeZero zero = SizeZero::kAllowed);

// For `->check(...)` of an option that may have a fraction. CLI::Range lets "nan" pass, which is neither too small nor too large.
CLI::Validator number_between(double least, double most);

// For `->check(...)` of an option that counts something: decimal digits alone, at least `least` and at most 10^15.
CLI::Validator whole_number(std::uint64_t least = 0);

}  // namespace fathom::cli
