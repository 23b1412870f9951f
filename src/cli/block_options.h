// The options with which every reading command chooses blocks of the heap: --size, --lifetime, --address,
// --alive-at, --freed-after, --leaked, --freed-by. For recordings that keep the life of every block.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/core/selection.h"
#include "base/result.h"
#include "model/store/reader.h"

namespace fathom::cli {

struct BlockOptions {
  std::string size, lifetime, address;
  std::optional<double> alive_at_s, freed_after_s;
  std::optional<std::string> freed_by;
  bool leaked = false;
};

// `options` outlives `app`.
void add_block_options(CLI::App& app, BlockOptions& options);

// Without any of the options a filter that is empty, so that lives of blocks are not read at all; `keep` as
// HeapBlockFilter has it. kUsage for what cannot be understood.
Result<store::ReadOptions> read_options_from(const BlockOptions& options, std::uint32_t keep = 0);

// --asked-size: "4096", "64KiB:1MiB", "1MiB:", ":100", and every power of two that has one of these sizes.
Result<analysis::SizeBuckets> parse_asked_sizes(const std::string& text);
// "4096", "4KiB", "1.5MiB", "2g"; k, m and g alone are powers of 1024; KB, MB and GB are powers of ten.
Result<std::uint64_t> parse_bytes(std::string_view text);
// "0.5", "250ns", "1.5us", "10ms", "2s", "5min", "5m", "1h", "2d"; a number alone is seconds.
Result<std::uint64_t> parse_duration_ns(std::string_view text);

}  // namespace fathom::cli
