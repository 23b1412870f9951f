// A headless Chromium for tests, driven over its own debugging pipe (Chrome DevTools Protocol: JSON ended by
// a zero byte on descriptors 3 and 4). No package of Node, no web server, no network.
#pragma once

#include <sys/types.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::browser {

using Json = nlohmann::json;

// "" when no Chromium is installed.
std::string find_chromium();

struct Key {
  std::string key;  // "Escape", "n", "ArrowUp"
  bool control = false, shift = false;
};

class Chromium {
 public:
  // Starts it with a window of this size and a profile of its own, which goes with it.
  static Result<std::unique_ptr<Chromium>> start(int width, int height);
  ~Chromium();
  Chromium(const Chromium&) = delete;
  Chromium& operator=(const Chromium&) = delete;

  Result<> open(const std::string& url);                 // until its load event
  Result<Json> evaluate(const std::string& expression);  // the value; an exception is an error
  Result<> click(double x, double y);
  Result<> point_at(double x, double y);
  // In a few steps, button down.
  Result<> drag(double from_x, double from_y, double to_x, double to_y, bool shift = false);
  Result<> press(const Key& key);
  Result<> type(const std::string& text);
  Result<> prefer_dark(bool dark);
  Result<> resize(int width, int height);  // the window, from the next page on; 390 pixels are a phone's
  Result<> run_scripts(bool run);
  Result<> screenshot(const std::string& path);
  // Exceptions, console messages and failed requests since the last call, one line each.
  std::vector<std::string> take_complaints();

 private:
  Chromium() = default;
  Result<Json> call(const std::string& method, Json parameters = Json::object());
  Result<Json> next_message();
  void take_note(const Json& event);

  pid_t pid_ = -1;
  Fd to_, from_;
  std::string folder_, session_, unread_;
  int last_id_ = 0;
  bool loaded_ = false;
  std::vector<std::string> complaints_;
};

}  // namespace fathom::browser
