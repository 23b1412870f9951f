// Any bytes as a request to the metrics endpoint, and as a response to a scrape, in pieces of any size:
// limits hold, and the cuts between pieces make no difference.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "linux/metrics/http_get.h"
#include "linux/metrics/http_response.h"
#include "linux/metrics/request.h"
#include "linux/metrics/write_text.h"

namespace {

using namespace fathom::metrics;

void require(bool holds) {
  if (!holds) std::abort();
}

HttpResponse respond(std::string_view bytes, std::size_t piece) {
  HttpResponse response({4096, 16384});
  while (!bytes.empty()) {
    response.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  response.end();
  return response;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = data[0] % 64 + 1;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);

  Request request;
  if (parse_request(bytes, request) == Parsed::kWhole) {
    const std::vector<Family> families{
        {"x", Type::kGauge, "", request.target, {{"x", {{"label", request.host}}, 1}}}};
    for (const Policy& policy :
         {Policy{{"", "127.0.0.1", 1}, ""}, Policy{{"", "0.0.0.0", 1}, "0123456789abcdef"}}) {
      const Answer told = answer(request, policy, &families);
      require(told.text.starts_with("HTTP/1.1 ") && told.text.find("\r\n\r\n") != std::string::npos);
    }
  }
  (void)choose_format(bytes);
  if (const auto url = parse_url(bytes)) require(url->target.find_first_of("\r\n ") == std::string::npos);

  const HttpResponse whole = respond(bytes, bytes.size() + 1), cut = respond(bytes, piece);
  require(whole.body().size() <= 16384 && cut.body().size() <= 16384);
  // With small pieces a limit may be reached earlier, but never later.
  if (cut.state() == HttpResponse::State::kWhole && whole.state() == cut.state())
    require(whole.body() == cut.body());
  return 0;
}
