#include "cli/push_destinations.h"

#include <fmt/format.h>

#include <array>

#include "linux/metrics/http_url.h"
#include "tools/clickhouse/location.h"
#include "tools/clickhouse/send.h"
#include "tools/dataset/write.h"
#include "tools/push/otlp.h"
#include "tools/push/parca.h"
#include "tools/push/profile_server.h"
#include "tools/push/pyroscope.h"

namespace fathom::cli {
namespace {

struct PushScheme {
  std::string_view form;
  bool (*takes)(std::string_view url);
  Result<std::unique_ptr<push::Destination>> (*open)(const std::string& url, int stop);
  bool is_experimental = false;
};

Result<std::unique_ptr<push::Destination>> open_clickhouse(const std::string& url, int stop) {
  auto location = clickhouse::parse_location(url);
  if (!location) return tl::unexpected<Error>(location.error());
  return std::make_unique<clickhouse::Sender>(std::move(*location), stop);
}

constexpr std::string_view kParquet = "parquet:";
bool is_parquet(std::string_view url) {
  return url.starts_with(kParquet) && url.size() > kParquet.size();
}
Result<std::unique_ptr<push::Destination>> open_parquet(const std::string& url, int) {
  return std::make_unique<dataset::Writer>(url.substr(kParquet.size()));
}

bool is_pyroscope(std::string_view url) {
  return push::is_server_url(url, "pyroscope");
}
// A tenant is named after a question mark: pyroscope://HOST?tenant=NAME.
Result<std::unique_ptr<push::Destination>> open_pyroscope(const std::string& url, int stop) {
  constexpr std::string_view kTenant = "?tenant=";
  const std::size_t at = url.find(kTenant);
  return push::pyroscope_destination(std::string_view(url).substr(0, at),
                                     at == std::string::npos ? "" : url.substr(at + kTenant.size()), stop);
}

bool is_parca(std::string_view url) {
  return push::is_server_url(url, "parca");
}
Result<std::unique_ptr<push::Destination>> open_parca(const std::string& url, int stop) {
  return push::parca_destination(url, stop);
}

bool is_otlp(std::string_view url) {
  return push::is_server_url(url, "otlp");
}
Result<std::unique_ptr<push::Destination>> open_otlp(const std::string& url, int stop) {
  return push::otlp_destination(url, stop);
}

constexpr std::array kPushSchemes = {
    PushScheme{"clickhouse://[USER@]HOST[:PORT]/DATABASE", clickhouse::is_location, open_clickhouse},
    PushScheme{"pyroscope://HOST[:PORT][?tenant=NAME]", is_pyroscope, open_pyroscope},
    PushScheme{"parca://HOST[:PORT]", is_parca, open_parca},
    PushScheme{"parquet:FOLDER", is_parquet, open_parquet},
    PushScheme{"otlp://HOST[:PORT] with --experimental", is_otlp, open_otlp, true},
};

}  // namespace

Result<std::unique_ptr<push::Destination>> open_destination(const std::string& url, bool experimental,
                                                            int stop) {
  std::string forms;
  for (const PushScheme& scheme : kPushSchemes) {
    if (scheme.takes(url) && scheme.is_experimental && !experimental) return experimental_error("otlp://");
    if (scheme.takes(url)) return scheme.open(url, stop);
    forms += (forms.empty() ? "" : ", ") + std::string(scheme.form);
  }
  return fail(ErrorKind::kUsage,
              fmt::format("'{}': fathom cannot send to such an address", metrics::without_secrets(url)),
              forms);
}

tl::unexpected<Error> experimental_error(std::string_view what) {
  return fail(
      ErrorKind::kUsage,
      fmt::format("{}: OTLP profiles are an alpha protocol, whose numbers change between versions", what),
      "--experimental, with a server of version 1.10.0 or later");
}

std::string destination_name(const std::string& url) {
  const std::size_t scheme = url.find("://"), start = scheme == std::string::npos ? 0 : scheme + 3;
  const std::string address = url.substr(0, url.find('?'));
  const std::size_t at = address.rfind('@');
  return at == std::string::npos || at < start ? address : address.substr(0, start) + address.substr(at + 1);
}

}  // namespace fathom::cli
