// A small server whose ten seconds have what docs/page.md walks through: a cache that grows from the third second on, a lock that the
// saving thread holds while its file is written (4 to 6 s), and a parser that does more work in the second half.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace db {

using Clock = std::chrono::steady_clock;
const Clock::time_point kStart = Clock::now();
double now_s() {
  return std::chrono::duration<double>(Clock::now() - kStart).count();
}

std::mutex journal;
std::atomic<bool> ended{false};
volatile unsigned long sink;

[[gnu::noinline]] void hash_rows(int rounds) {
  unsigned long value = 1;
  for (int i = 0; i < rounds * 1000; ++i) value = value * 6364136223846793005UL + (value >> 17);
  sink = value;
}
[[gnu::noinline]] void parse_query(int rounds) {
  unsigned long value = 7;
  for (int i = 0; i < rounds * 1000; ++i) value ^= value << 13, value ^= value >> 7, value ^= value << 17;
  sink = value;
}

struct Cache {
  std::vector<std::string> rows;
  [[gnu::noinline]] void insert() { rows.emplace_back(64 * 1024, 'x'); }
};

[[gnu::noinline]] void commit() {
  const std::lock_guard<std::mutex> held(journal);
  hash_rows(100);
}

[[gnu::noinline]] void serve(Cache& cache) {
  const double at = now_s();
  parse_query(at < 5 ? 700 : 1400);
  hash_rows(900);
  if (at > 2) cache.insert();
  commit();
  std::string answer(2048, 'a');
  sink = answer.size();
}

[[gnu::noinline]] void save_snapshot(const std::string& path) {
  const std::lock_guard<std::mutex> held(journal);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const std::string page(1 << 20, 's');
  for (int i = 0; i < 8; ++i) {
    if (::write(file, page.data(), page.size()) < 0) std::perror("write");
    ::fsync(file);
  }
  ::close(file);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
}

}  // namespace db

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "snapshot";
  std::thread persistence([&] {
    ::pthread_setname_np(::pthread_self(), "persistence");
    while (!db::ended) {
      if (const double at = db::now_s(); at > 4 && at < 6) db::save_snapshot(path);
      std::this_thread::sleep_for(std::chrono::milliseconds(40));
    }
  });
  ::pthread_setname_np(::pthread_self(), "engine");
  db::Cache cache;
  while (db::now_s() < 10) {
    db::serve(cache);
    std::this_thread::sleep_for(std::chrono::milliseconds(8));
  }
  db::ended = true;
  persistence.join();
  ::unlink(path.c_str());
}
