#include "cli/tour_program.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <regex>
#include <string>
#include <thread>

// What a user of the tour reads are these names. Their symbols are exported (CMakeLists.txt), so they stay when fathom is stripped.
namespace shop {
namespace {

using namespace std::chrono_literals;

struct Session {
  char history[8192];
};

std::mutex g_sessions_lock;
std::atomic<Session*> g_last_session;
std::atomic<bool> g_closing;

}  // namespace

#define SHOP_FUNCTION __attribute__((noinline, used, visibility("default")))

// Fault 1: compiles the same expression for each line of a request.
SHOP_FUNCTION int parse_request(int request) {
  int articles = 0;
  for (int line = 0; line < 20; ++line) {
    const std::regex order("^order ([0-9]+): ([a-z]+)( x[0-9]+)?$");
    articles +=
        std::regex_match("order " + std::to_string(request) + ": tea x" + std::to_string(line), order);
  }
  return articles;
}

// Fault 2: a session for each request, and nothing frees the one before.
SHOP_FUNCTION void remember_session(int articles) {
  auto* session = new Session;
  std::memset(session->history, articles, sizeof session->history);
  g_last_session = session;
}

SHOP_FUNCTION void answer_request(int request) {
  const int articles = parse_request(request);
  const std::scoped_lock lock(g_sessions_lock);
  remember_session(articles);
}

// Fault 3: keeps the lock while a slow disk writes.
SHOP_FUNCTION void save_sessions() {
  const std::scoped_lock lock(g_sessions_lock);
  std::this_thread::sleep_for(20ms);
}

SHOP_FUNCTION void serve_requests() {
  for (int request = 0; !g_closing; ++request) {
    answer_request(request);
    std::this_thread::sleep_for(1ms);
  }
}

SHOP_FUNCTION void run_saver() {
  while (!g_closing) {
    save_sessions();
    std::this_thread::sleep_for(30ms);
  }
}

}  // namespace shop

namespace fathom::cli {

int run_tour_program() {
  const auto named = [](const char* name, void (*work)()) {
    return std::thread([name, work] {
      ::pthread_setname_np(::pthread_self(), name);
      work();
    });
  };
  std::thread threads[] = {named("request-1", shop::serve_requests), named("request-2", shop::serve_requests),
                           named("saver", shop::run_saver)};
  std::this_thread::sleep_for(std::chrono::seconds(kTourSeconds));
  shop::g_closing = true;
  for (std::thread& thread : threads) thread.join();
  return 0;
}

}  // namespace fathom::cli
