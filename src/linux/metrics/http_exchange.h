// One request and its answer over a socket to a numeric address or a Unix socket. Used by http_client and http_get.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "linux/metrics/address.h"
#include "linux/metrics/http_response.h"

namespace fathom::metrics {

// `name`: for messages. `request`: head and body as bytes. The answer is whole, and as it was sent: packed if it is.
Result<HttpResponse> http_exchange(const Address& address, const std::string& name, std::string_view request,
                                   std::uint64_t deadline_ns, int stop, HttpBounds bounds);

// A connection can be made. It is closed again.
bool can_connect(const Address& address, std::uint64_t deadline_ns, int stop);

// Why an answer is not whole; nothing if it is.
Result<> check_whole(const HttpResponse& response, const std::string& name, HttpBounds bounds);

// The body of a whole answer, unpacked if it is packed with gzip. kMalformed: packed in another way, damaged, too long.
Result<std::string> unpacked_body(const HttpResponse& response, const std::string& name, HttpBounds bounds);

// Waits for events of poll() on `fd`. Empty: they are there; otherwise why not. `ready`: the events, if not null.
std::string wait_for_events(int fd, short events, std::uint64_t deadline_ns, int stop,
                            short* ready = nullptr);

}  // namespace fathom::metrics
