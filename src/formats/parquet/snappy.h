// Snappy's raw format, unpacked: what engines pack Parquet with by default. Source: format_description.txt of Snappy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fathom::parquet {

// nullopt: damaged, or not exactly `size` bytes when unpacked.
std::optional<std::string> unpack_snappy(std::string_view packed, std::uint64_t size);

}  // namespace fathom::parquet
