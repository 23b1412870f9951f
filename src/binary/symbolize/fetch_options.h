// Debug files from debuginfod servers. Plain values.
#pragma once

#include <cstdint>
#include <string>

namespace fathom::symbolize {

struct FetchOptions {
  // Separated by spaces. Empty: nothing is fetched, and no network is used.
  std::string urls;
  // A program whose main() hands kFetchProcessArgument on to run_fetch_process(): for fathom itself /proc/self/exe.
  std::string program;
  // Where fetched files are kept. Empty: nowhere.
  std::string cache_directory;
  std::uint64_t cache_limit_bytes = std::uint64_t{4} << 30;
  bool give_up_rights = false;  // the thread that fetches keeps only what it needs to become the user nobody
  std::uint64_t wait_ns = 10'000'000'000;  // for files that are under way when a recording ends
};

}  // namespace fathom::symbolize
