// The process that talks to debuginfod servers: another execution of fathom. As root it becomes the user
// nobody first, so that it parses network data without privileges. It uses Debian's libdebuginfod if it can
// load that, else the program debuginfod-find; both know the variables DEBUGINFOD_*, proxies and
// certificates.
#pragma once

#include <string>

namespace fathom::symbolize {

// What is executed: kFetchProcessArgument BUILD_ID. The servers are in DEBUGINFOD_URLS; the file is put below the folder
// DEBUGINFOD_CACHE_PATH as BUILD_ID/debuginfo. Standard output: one line about what went wrong.
inline constexpr const char* kFetchProcessArgument = "--fetch-debug-file";
int run_fetch_process(int argc, char** argv);

// Exit statuses.
enum FetchStatus : int { kFetched = 0, kFetchFailed = 1, kNotOnServers = 2, kNoClient = 3 };

// User and group of the process where fathom is root.
inline constexpr unsigned kFetchUser = 65534;

}  // namespace fathom::symbolize
