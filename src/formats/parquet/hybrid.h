// Small numbers in Parquet: runs of one number, and groups of eight with as many bits each as the largest one needs. Levels and rows
// of dictionaries are stored like this. Source: Encodings.md of Apache Parquet, "RLE/Bit-Packing Hybrid".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cursor.h"

namespace fathom::parquet {

// Bits that hold 0 to `largest`.
unsigned bits_for(std::uint64_t largest);

// `bits` up to 32.
template <class Number>
std::string hybrid_encode(const std::vector<Number>& values, unsigned bits);

// Appends `count` values, or fewer if the bytes end before, which makes the cursor not ok(). More bytes than that may be left.
void hybrid_decode(Cursor& in, unsigned bits, std::uint64_t count, std::vector<std::uint32_t>& out);

}  // namespace fathom::parquet
