// Debug files from debuginfod servers, one after the other, on a thread of its own. The network is another process's: fathom
// executed once more, without rights (fetch_process.h); here, what it brought is checked and kept. Private to this folder.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/cache_folder.h"
#include "base/fd.h"
#include "binary/symbolize/fetch_options.h"

namespace fathom::symbolize {

struct FetchedFile {
  Fd file;           // -1: there is none
  std::string path;  // in the cache; else the server's name for it
  // The file that dwz shares between several, if the debug file names one and it was to be had.
  Fd shared;
  std::string shared_id;
  bool not_found = false;  // every server said that it has none
  std::string why;         // one line, unless there is a file
};

class DebugFetcher {
 public:
  // `on_result` is called on the thread of the fetcher, without any lock.
  DebugFetcher(FetchOptions options, std::function<void()> on_result);
  ~DebugFetcher();  // stops
  DebugFetcher(const DebugFetcher&) = delete;
  DebugFetcher& operator=(const DebugFetcher&) = delete;

  // True if `identity` is a build id and a file may be found; then take() will have a result some day.
  bool ask(const std::string& identity);
  bool is_ready(const std::string& build_id) const;
  // Once for each; nullopt: still under way.
  std::optional<FetchedFile> take(const std::string& build_id);

  // Ends what is under way. What was asked for and is not there yet never comes.
  void stop();

 private:
  void run();
  FetchedFile fetch(const std::string& build_id);
  // From the cache or from the servers.
  FetchedFile fetch_one(const std::string& build_id);
  Fd fetch_into(const std::string& folder, const std::string& build_id, FetchedFile& result);

  FetchOptions options_;
  std::function<void()> on_result_;
  CacheFolder cache_;
  Fd stop_event_;
  mutable std::mutex mutex_;  // of the next four
  std::condition_variable asked_;
  bool stopped_ = false;
  std::deque<std::string> queue_;
  std::map<std::string, FetchedFile> results_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace fathom::symbolize
