#include "tools/pyroscope/query.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/push/profile_server.h"

namespace fathom::pyroscope {
namespace {

constexpr std::string_view kForm =
    "'pyroscope://HOST?service=NAME&from=-1h', or with query=TYPE{service_name=\"NAME\"}";

// Types as fathom sends them (tools/push/server_profiles.cpp); other agents use the same for CPU time and the heap.
struct TypeOfMetric {
  std::string_view metric, type;
};
constexpr TypeOfMetric kTypes[] = {
    {"cpu", "process_cpu:cpu:nanoseconds:cpu:nanoseconds"},
    {"off-cpu", "off_cpu:off_cpu:nanoseconds:off_cpu:nanoseconds"},
    {"heap-allocated", "memory:alloc_space:bytes:space:bytes"},
    {"heap-live", "memory:inuse_space:bytes:space:bytes"},
};

struct Words {
  std::string query, service, host, metric;
};

std::string quoted_value(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

Result<> take_word(const std::string& key, const std::string& value, Words& words, Query& query) {
  const std::pair<std::string_view, std::string*> known[] = {
      {"query", &words.query},   {"service", &words.service}, {"host", &words.host},
      {"metric", &words.metric}, {"tenant", &query.tenant},   {"from", &query.from},
      {"until", &query.until}};
  for (const auto& [name, into] : known)
    if (key == name) {
      *into = value;
      return {};
    }
  return fail(ErrorKind::kUsage, fmt::format("'{}={}' chooses nothing in Pyroscope", key, value),
              std::string(kForm));
}

// A type has five parts, of which the last two may be empty.
bool is_type(std::string_view text) {
  return std::ranges::count(text, ':') == 4 && !text.starts_with(':');
}

Result<> choose_type(const Words& words, Query& query) {
  const std::string metric = words.metric.empty() ? "cpu" : words.metric;
  for (const TypeOfMetric& row : kTypes)
    if (row.metric == metric) query.type = row.type;
  if (query.type.empty())
    return fail(ErrorKind::kUsage, fmt::format("metric={} has no type in Pyroscope", metric),
                "metric=cpu, off-cpu, heap-allocated or heap-live, or query=TYPE{LABELS}");
  return {};
}

Result<> choose(const Words& words, Query& query) {
  if (!words.query.empty()) {
    const std::size_t brace = std::min(words.query.find('{'), words.query.size());
    query.type = words.query.substr(0, brace);
    query.selector = words.query.substr(brace);
    if (!words.service.empty() || !words.host.empty())
      return fail(ErrorKind::kUsage, "query= has the labels; service= and host= go without it",
                  std::string(kForm));
    if (query.type.empty())
      if (auto chosen = choose_type(words, query); !chosen) return chosen;
    if (!is_type(query.type) || !query.selector.ends_with('}'))
      return fail(ErrorKind::kUsage, fmt::format("'{}' is not a query of Pyroscope", words.query),
                  "query=process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name=\"NAME\"}");
    return {};
  }
  if (words.service.empty())
    return fail(ErrorKind::kUsage, "which service of Pyroscope?", std::string(kForm));
  query.selector = "{service_name=" + quoted_value(words.service);
  if (!words.host.empty()) query.selector += ",host=" + quoted_value(words.host);
  query.selector += "}";
  return choose_type(words, query);
}

}  // namespace

Result<Query> parse_query(std::string_view text) {
  const std::size_t mark = std::min(text.find('?'), text.size());
  auto server = push::parse_server_url(text.substr(0, mark), "pyroscope", 4040);
  if (!server) return fail(ErrorKind::kUsage, server.error().message, std::string(kForm));
  Query query;
  query.server = std::move(*server);
  Words words;
  if (auto taken = metrics::for_each_parameter(text.substr(std::min(mark + 1, text.size())), kForm,
                                               [&](const std::string& key, const std::string& value) {
                                                 return take_word(key, value, words, query);
                                               });
      !taken)
    return tl::unexpected<Error>(taken.error());
  if (auto chosen = choose(words, query); !chosen) return tl::unexpected<Error>(chosen.error());
  return query;
}

}  // namespace fathom::pyroscope
