#include "tools/clickhouse/location.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "linux/metrics/login.h"
#include "model/metric.h"

namespace fathom::clickhouse {
namespace {

constexpr std::string_view kPlain = "clickhouse://", kTls = "clickhouse+https://";
constexpr std::string_view kForm = "clickhouse://HOST/DATABASE?service=NAME&from=-1h&host=a,b";

// What goes into SQL as a name, unquoted.
bool is_sql_name(std::string_view text) {
  return !text.empty() && text.size() <= 100 && !is_digit(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
         });
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    if (end != 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// "!a" is every host but a. A second "host=" replaces the hosts of the first, and excludes no fewer.
void take_hosts(std::string_view value, Location& location) {
  location.hosts.clear();
  for (std::string& word : words_of(value)) {
    if (!word.starts_with('!'))
      location.hosts.push_back(std::move(word));
    else if (word.size() > 1)
      location.other_hosts.push_back(word.substr(1));
  }
}

Result<> take_pair(const std::string& key, const std::string& value, Location& location) {
  if (key == "service") {
    location.service = value;
  } else if (key == "host") {
    take_hosts(value, location);
  } else if (key == "version") {
    location.versions = words_of(value);
  } else if (key == "from") {
    location.from = value;
  } else if (key == "until") {
    location.until = value;
  } else if (key == "metric" && model::metric_from(value)) {
    location.metric = value;
  } else if (key == "cluster" && is_sql_name(value)) {
    location.cluster = value;
  } else {
    return fail(ErrorKind::kUsage, fmt::format("'{}={}' chooses no rows", key, value), std::string(kForm));
  }
  return {};
}

}  // namespace

Result<> parse_choice(std::string_view query, Location& location) {
  return metrics::for_each_parameter(query, kForm, [&](const std::string& key, const std::string& value) {
    return take_pair(key, value, location);
  });
}

bool is_location(std::string_view text) {
  return text.starts_with(kPlain) || text.starts_with(kTls);
}

Result<Location> parse_location(std::string_view text) {
  const bool tls = text.starts_with(kTls);
  if (!tls && !text.starts_with(kPlain))
    return fail(ErrorKind::kUsage,
                fmt::format("'{}' is not an address of ClickHouse", metrics::without_secrets(text)),
                std::string(kForm));
  auto url = metrics::parse_http_url(
      fmt::format("{}{}", tls ? "https://" : "http://", text.substr(tls ? kTls.size() : kPlain.size())));
  if (!url) return fail(ErrorKind::kUsage, url.error().message, std::string(kForm));
  Location location;
  const std::string target = std::move(url->target);
  url->target = "/";
  // The ports on which ClickHouse answers HTTP. Those of a web server are what the parser assumes.
  const std::string_view authority = text.substr(0, std::min(text.find('?'), text.size()));
  const std::string as_given = fmt::format(":{}", url->port);
  if (url->port == (tls ? 443 : 80) && authority.find(as_given) == authority.npos)
    url->port = tls ? 8443 : 8123;
  metrics::add_login(*url, "CLICKHOUSE", "default");
  location.server = std::move(*url);
  const std::size_t mark = std::min(target.find('?'), target.size());
  std::string path;
  if (!metrics::percent_decode(std::string_view(target).substr(1, mark == 0 ? 0 : mark - 1), path))
    path = "%";
  while (path.ends_with('/')) path.pop_back();
  if (!path.empty()) location.database = path;
  if (!is_sql_name(location.database))
    return fail(ErrorKind::kUsage, "the name of a database has letters, digits and _", std::string(kForm));
  if (auto taken = parse_choice(std::string_view(target).substr(std::min(mark + 1, target.size())), location);
      !taken)
    return tl::unexpected<Error>(taken.error());
  return location;
}

}  // namespace fathom::clickhouse
