#include "browser/chromium.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/files.h"

namespace fathom::browser {
namespace {

constexpr int kPatienceMs = 30'000;

std::string decode_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) break;
    bits = bits << 6 | static_cast<unsigned>(digit);
    count += 6;
    if (count >= 8) out += static_cast<char>(bits >> (count -= 8) & 0xFF);
  }
  return out;
}

int code_of(const std::string& key) {
  if (key == "Tab") return 9;
  if (key == "Enter") return 13;
  if (key == "Escape") return 27;
  if (key == "ArrowLeft") return 37;
  if (key == "ArrowUp") return 38;
  if (key == "ArrowRight") return 39;
  if (key == "ArrowDown") return 40;
  return 0;
}

}  // namespace

std::string find_chromium() {
  for (const char* path : {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"}) {
    if (::access(path, X_OK) == 0) return path;
  }
  return "";
}

Result<std::unique_ptr<Chromium>> Chromium::start(int width, int height) {
  const std::string program = find_chromium();
  if (program.empty())
    return fail(ErrorKind::kNotFound, "no Chromium is installed", "apt-get install chromium");
  std::unique_ptr<Chromium> chromium(new Chromium());
  std::string pattern = (std::filesystem::temp_directory_path() / "fathom-chromium-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return system_error(pattern, errno);
  chromium->folder_ = pattern;
  int down[2], up[2];
  if (::pipe2(down, O_CLOEXEC) != 0) return system_error("pipe", errno);
  chromium->to_ = Fd(down[1]);
  const Fd child_in(down[0]);
  if (::pipe2(up, O_CLOEXEC) != 0) return system_error("pipe", errno);
  chromium->from_ = Fd(up[0]);
  const Fd child_out(up[1]);

  // The flags keep it from looking for its makers' hosts, which closed networks refuse.
  const std::vector<std::string> arguments = {
      program,
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--disable-extensions",
      "--disable-dev-shm-usage",
      "--hide-scrollbars",
      "--force-device-scale-factor=1",
      "--remote-debugging-pipe",
      "--user-data-dir=" + pattern,
      "--window-size=" + std::to_string(width) + "," + std::to_string(height),
      "about:blank"};
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  chromium->pid_ = ::fork();
  if (chromium->pid_ < 0) return system_error("fork", errno);
  if (chromium->pid_ == 0) {
    ::setpgid(0, 0);
    // First out of the way of 3 and 4, then onto them: dup2 clears close-on-exec.
    const int in = ::fcntl(child_in.get(), F_DUPFD, 10);
    const int out = ::fcntl(child_out.get(), F_DUPFD, 10);
    const int nowhere = ::open("/dev/null", O_RDWR);
    ::dup2(nowhere, 0);
    ::dup2(nowhere, 1);
    ::dup2(nowhere, 2);
    ::dup2(in, 3);
    ::dup2(out, 4);
    ::close(in);
    ::close(out);
    ::execv(program.c_str(), argv.data());
    ::_exit(127);
  }
  auto target = chromium->call("Target.createTarget", {{"url", "about:blank"}});
  if (!target) return tl::unexpected(target.error());
  auto session =
      chromium->call("Target.attachToTarget", {{"targetId", (*target)["targetId"]}, {"flatten", true}});
  if (!session) return tl::unexpected(session.error());
  chromium->session_ = (*session)["sessionId"];
  for (const char* domain : {"Page.enable", "Runtime.enable", "Log.enable", "Network.enable"}) {
    if (auto enabled = chromium->call(domain); !enabled) return tl::unexpected(enabled.error());
  }
  auto size =
      chromium->call("Emulation.setDeviceMetricsOverride",
                     {{"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", false}});
  if (!size) return tl::unexpected(size.error());
  return chromium;
}

Chromium::~Chromium() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);  // its own group: renderers and helpers too
    ::waitpid(pid_, nullptr, 0);
  }
  // The last helpers may still write for a moment.
  std::error_code ignored;
  for (int attempt = 0; attempt < 20 && !folder_.empty(); ++attempt) {
    std::filesystem::remove_all(folder_, ignored);
    if (!std::filesystem::exists(folder_, ignored)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

Result<Json> Chromium::next_message() {
  while (true) {
    if (const std::size_t end = unread_.find('\0'); end != std::string::npos) {
      Json message = Json::parse(unread_.substr(0, end), nullptr, false);
      unread_.erase(0, end + 1);
      if (message.is_discarded()) return fail(ErrorKind::kMalformed, "Chromium: a message that is no JSON");
      return message;
    }
    pollfd readable{from_.get(), POLLIN, 0};
    if (::poll(&readable, 1, kPatienceMs) <= 0)
      return fail(ErrorKind::kSystem, "Chromium: no answer in 30 s");
    char buffer[65536];
    const ssize_t count = ::read(from_.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return fail(ErrorKind::kSystem, "Chromium has gone");
    unread_.append(buffer, static_cast<std::size_t>(count));
  }
}

void Chromium::take_note(const Json& event) {
  const std::string method = event.value("method", "");
  const Json& details = event.contains("params") ? event["params"] : event;
  if (method == "Page.loadEventFired") loaded_ = true;
  if (method == "Runtime.exceptionThrown")
    complaints_.push_back("exception: " + details["exceptionDetails"].dump());
  if (method == "Runtime.consoleAPICalled") complaints_.push_back("console: " + details["args"].dump());
  if (method == "Log.entryAdded") complaints_.push_back("log: " + details["entry"].dump());
  if (method == "Network.requestWillBeSent") {
    const std::string url = details["request"].value("url", "");
    if (url.rfind("file:", 0) != 0 && url.rfind("about:", 0) != 0) complaints_.push_back("request: " + url);
  }
}

Result<Json> Chromium::call(const std::string& method, Json parameters) {
  Json message = {{"id", ++last_id_}, {"method", method}, {"params", std::move(parameters)}};
  if (!session_.empty()) message["sessionId"] = session_;
  const std::string text = message.dump();
  // With its zero byte, which a std::string has behind its end.
  for (std::size_t done = 0; done < text.size() + 1;) {
    const ssize_t count = ::write(to_.get(), text.c_str() + done, text.size() + 1 - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("Chromium: " + method, errno);
    done += static_cast<std::size_t>(count);
  }
  while (true) {
    auto answer = next_message();
    if (!answer) return within(method, answer.error());
    if (answer->value("id", 0) != last_id_) {
      take_note(*answer);
      continue;
    }
    if (answer->contains("error")) return fail(ErrorKind::kSystem, method + ": " + (*answer)["error"].dump());
    return (*answer)["result"];
  }
}

Result<> Chromium::open(const std::string& url) {
  loaded_ = false;
  if (auto navigated = call("Page.navigate", {{"url", url}}); !navigated)
    return tl::unexpected(navigated.error());
  while (!loaded_) {
    auto event = next_message();
    if (!event) return tl::unexpected(event.error());
    take_note(*event);
  }
  return {};
}

Result<Json> Chromium::evaluate(const std::string& expression) {
  auto answer =
      call("Runtime.evaluate", {{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}});
  if (!answer) return answer;
  if (answer->contains("exceptionDetails"))
    return fail(ErrorKind::kSystem, (*answer)["exceptionDetails"].dump());
  return (*answer)["result"].value("value", Json());
}

Result<> Chromium::point_at(double x, double y) {
  auto moved = call("Input.dispatchMouseEvent", {{"type", "mouseMoved"}, {"x", x}, {"y", y}});
  if (!moved) return tl::unexpected(moved.error());
  return {};
}

Result<> Chromium::click(double x, double y) {
  if (auto moved = point_at(x, y); !moved) return moved;
  for (const char* type : {"mousePressed", "mouseReleased"}) {
    auto done = call("Input.dispatchMouseEvent",
                     {{"type", type}, {"x", x}, {"y", y}, {"button", "left"}, {"clickCount", 1}});
    if (!done) return tl::unexpected(done.error());
  }
  return {};
}

Result<> Chromium::drag(double from_x, double from_y, double to_x, double to_y, bool shift) {
  const auto send = [&](const char* type, double x, double y) -> Result<> {
    constexpr int kShift = 8;
    auto done = call("Input.dispatchMouseEvent", {{"type", type},
                                                  {"x", x},
                                                  {"y", y},
                                                  {"button", "left"},
                                                  {"buttons", 1},
                                                  {"modifiers", shift ? kShift : 0},
                                                  {"clickCount", 1}});
    if (!done) return tl::unexpected(done.error());
    return {};
  };
  if (auto moved = point_at(from_x, from_y); !moved) return moved;
  if (auto pressed = send("mousePressed", from_x, from_y); !pressed) return pressed;
  constexpr int kSteps = 5;
  for (int step = 1; step <= kSteps; ++step) {
    const double part = static_cast<double>(step) / kSteps;
    if (auto moved = send("mouseMoved", from_x + (to_x - from_x) * part, from_y + (to_y - from_y) * part);
        !moved)
      return moved;
  }
  return send("mouseReleased", to_x, to_y);
}

Result<> Chromium::press(const Key& key) {
  const std::string text = key.control ? "" : key.key == "Enter" ? "\r" : key.key.size() == 1 ? key.key : "";
  for (const char* type : {"keyDown", "keyUp"}) {
    Json parameters = {
        {"type", type}, {"key", key.key}, {"modifiers", (key.control ? 2 : 0) | (key.shift ? 8 : 0)}};
    // What Chromium itself does with a key, it does by this number.
    if (const int code = code_of(key.key); code != 0) parameters["windowsVirtualKeyCode"] = code;
    if (!text.empty() && std::string(type) == "keyDown") parameters["text"] = text;
    if (auto done = call("Input.dispatchKeyEvent", std::move(parameters)); !done)
      return tl::unexpected(done.error());
  }
  return {};
}

Result<> Chromium::type(const std::string& text) {
  if (auto done = call("Input.insertText", {{"text", text}}); !done) return tl::unexpected(done.error());
  return {};
}

Result<> Chromium::prefer_dark(bool dark) {
  const Json feature = {{"name", "prefers-color-scheme"}, {"value", dark ? "dark" : "light"}};
  auto done = call("Emulation.setEmulatedMedia", {{"features", Json::array({feature})}});
  if (!done) return tl::unexpected(done.error());
  return {};
}

Result<> Chromium::resize(int width, int height) {
  auto done = call("Emulation.setDeviceMetricsOverride",
                   {{"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", false}});
  if (!done) return tl::unexpected(done.error());
  return {};
}

Result<> Chromium::run_scripts(bool run) {
  auto done = call("Emulation.setScriptExecutionDisabled", {{"value", !run}});
  if (!done) return tl::unexpected(done.error());
  return {};
}

Result<> Chromium::screenshot(const std::string& path) {
  auto picture = call("Page.captureScreenshot", {{"format", "png"}});
  if (!picture) return tl::unexpected(picture.error());
  return write_file(path, decode_base64((*picture)["data"].get<std::string>()));
}

std::vector<std::string> Chromium::take_complaints() {
  return std::exchange(complaints_, {});
}

}  // namespace fathom::browser
