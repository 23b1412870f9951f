#include "cli/push_destinations.h"

#include <fmt/format.h>

#include <array>

#include "linux/metrics/http_url.h"
#include "tools/clickhouse/location.h"
#include "tools/clickhouse/send.h"

namespace fathom::cli {
namespace {

struct PushScheme {
  std::string_view form;
  bool (*takes)(std::string_view url);
  Result<std::unique_ptr<push::Destination>> (*open)(const std::string& url, int stop);
};

Result<std::unique_ptr<push::Destination>> open_clickhouse(const std::string& url, int stop) {
  auto location = clickhouse::parse_location(url);
  if (!location) return tl::unexpected<Error>(location.error());
  return std::make_unique<clickhouse::Sender>(std::move(*location), stop);
}

constexpr std::array kPushSchemes = {
    PushScheme{"clickhouse://[USER@]HOST[:PORT]/DATABASE", clickhouse::is_location, open_clickhouse},
};

}  // namespace

Result<std::unique_ptr<push::Destination>> open_destination(const std::string& url, int stop) {
  std::string forms;
  for (const PushScheme& scheme : kPushSchemes) {
    if (scheme.takes(url)) return scheme.open(url, stop);
    forms += (forms.empty() ? "" : ", ") + std::string(scheme.form);
  }
  return fail(ErrorKind::kUsage,
              fmt::format("'{}': fathom cannot send to such an address", metrics::without_secrets(url)),
              forms);
}

std::string destination_name(const std::string& url) {
  const std::size_t scheme = url.find("://"), start = scheme == std::string::npos ? 0 : scheme + 3;
  const std::string address = url.substr(0, url.find('?'));
  const std::size_t at = address.rfind('@');
  return at == std::string::npos || at < start ? address : address.substr(0, start) + address.substr(at + 1);
}

}  // namespace fathom::cli
