#include "tools/serve/routes.h"

#include <optional>

#include "base/parse.h"

namespace fathom::serve {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The first value with this name; nullopt: it is not there.
std::optional<std::string> parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = take_until(query, '&');
    const std::size_t equals = pair.find('=');
    if (pair.substr(0, equals) != name) continue;
    std::string value;
    if (equals != std::string_view::npos && !decode_percent(pair.substr(equals + 1), value)) return "?";
    return value;
  }
  return std::nullopt;
}

std::optional<Cost> cost_of(std::string_view name) {
  if (name == "profile") return Cost::kCpu;
  if (name == "block") return Cost::kBlock;
  if (name == "mutex") return Cost::kMutex;
  if (name == "heap") return Cost::kHeap;
  if (name == "allocs") return Cost::kAllocs;
  return std::nullopt;
}

Route wrong(Route route, std::string problem) {
  route.kind = Route::Kind::kWrong;
  route.problem = std::move(problem);
  return route;
}

Route profile_route(Route route, std::string_view name, std::string_view query) {
  if (name == "symbol") {
    route.kind = Route::Kind::kSymbol;
    return route;
  }
  const auto cost = cost_of(name);
  if (!cost) return route;
  route.kind = Route::Kind::kProfile;
  route.cost = *cost;
  const auto seconds = parameter(query, "seconds"), debug = parameter(query, "debug");
  if (seconds) {
    const auto number = parse_number(*seconds);
    if (!number || *number == 0)
      return wrong(route, "invalid value for \"seconds\" - must be a positive integer");
    if (*number > kMostPullSeconds) return wrong(route, "\"seconds\" is more than 300");
    route.seconds = *number;
  } else if (route.cost == Cost::kCpu) {
    route.seconds = kUsualPullSeconds;
  }
  if (debug) {
    const auto number = parse_number(*debug);
    if (!number) return wrong(route, "invalid value for \"debug\" - must be a number");
    if (*number != 0 && seconds && route.cost != Cost::kCpu)
      return wrong(route, "\"debug\" and \"seconds\" are incompatible");
    route.as_text = *number != 0;
  }
  return route;
}

}  // namespace

bool decode_percent(std::string_view text, std::string& decoded) {
  decoded.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const int high = text.size() - i > 2 ? digit_of(text[i + 1]) : -1;
    const int low = text.size() - i > 2 ? digit_of(text[i + 2]) : -1;
    if (high < 0 || low < 0) return false;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return true;
}

Route route_of(std::string_view request_target) {
  const std::size_t mark = request_target.find('?');
  std::string_view path = request_target.substr(0, mark);
  const std::string_view query =
      mark == std::string_view::npos ? std::string_view() : request_target.substr(mark + 1);
  Route route;
  if (path == "/") route.kind = Route::Kind::kIndex;
  if (path == "/sd") route.kind = Route::Kind::kDiscovery;
  if (route.kind != Route::Kind::kUnknown) return route;
  constexpr std::string_view kPrefix = "/p/", kPprof = "/debug/pprof";
  if (path.starts_with(kPrefix)) {
    path.remove_prefix(kPrefix.size());
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos || !decode_percent(path.substr(0, slash), route.target) ||
        route.target.empty())
      return route;
    path.remove_prefix(slash);
  }
  if (path == "/metrics") route.kind = Route::Kind::kMetrics;
  if (!path.starts_with(kPprof)) return route;
  path.remove_prefix(kPprof.size());
  if (path.empty() || path == "/") {
    route.kind = Route::Kind::kPprofIndex;
    return route;
  }
  if (!path.starts_with('/')) return route;
  return profile_route(route, path.substr(1), query);
}

}  // namespace fathom::serve
