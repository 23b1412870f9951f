// Sends the windows of a store of fathom serve as they are written, in a thread of its own. The store is the queue: a window waits
// there while the server is away, and the store's own limits of age and size bound how much waits.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "tools/push/destination.h"
#include "tools/serve/store.h"

namespace fathom::push {

struct StoreSenderState {
  std::uint64_t sent = 0, waiting = 0;  // windows; `sent` since the start
  std::uint64_t lost = 0;  // removed from the store before they were sent, or refused by the server
};

class StoreSender {
 public:
  // `name`: of the server, without a password; the file with the progress is named after it. `stop`: an eventfd that `destination`
  // watches; the sender writes to it when it must end.
  StoreSender(std::string store, std::string name, std::unique_ptr<Destination> destination, Fd stop);
  ~StoreSender();
  StoreSender(const StoreSender&) = delete;
  StoreSender& operator=(const StoreSender&) = delete;

  // Sends what is there once more, for at most `seconds`, and ends. What is left is sent by the next sender of this store.
  void finish(unsigned seconds);

  StoreSenderState state() const;
  // Sentences since the last call: the server went away or came back, windows were lost.
  std::vector<std::string> take_sentences();

 private:
  void run();
  bool pass();
  Result<> send_target(const std::string& target);
  Result<model::Profile> read_rest(const serve::StoredWindow& window, std::uint64_t sent_until) const;
  void count_lost(const std::string& target, const std::vector<serve::StoredWindow>& now,
                  std::uint64_t sent_until);
  void load_progress();
  void save_progress() const;
  void tell(std::string sentence);

  const std::string store_, name_, progress_path_;
  const std::unique_ptr<Destination> destination_;
  const Fd stop_;
  // The thread's own.
  std::map<std::string, std::uint64_t> sent_until_;                // by target, CLOCK_REALTIME
  std::map<std::string, std::vector<serve::WindowName>> waiting_;  // as seen in the pass before
  bool away_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  StoreSenderState state_;
  std::vector<std::string> sentences_;
  bool ends_ = false, ended_ = false;
  std::thread thread_;
};

}  // namespace fathom::push
