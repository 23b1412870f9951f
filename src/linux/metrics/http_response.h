// An HTTP/1.1 response as it comes in, bytes of a stranger. Pure. Source: RFC 9112.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fathom::metrics {

struct HttpBounds {
  std::size_t head_bytes = 64 << 10;
  std::size_t body_bytes = 16 << 20;
};

// Takes any bytes received; the body is complete when state() says so.
class HttpResponse {
 public:
  enum class State : std::uint8_t { kIncomplete, kWhole, kMalformed, kTooLong };

  explicit HttpResponse(HttpBounds bounds = {}) : bounds_(bounds) {}
  State feed(std::string_view bytes);
  // The other side has said all it will: a body without a length ends here.
  State end();

  State state() const { return state_; }
  int status() const { return status_; }
  const std::string& content_type() const { return content_type_; }
  const std::string& content_encoding() const { return content_encoding_; }  // "" or as it is written
  // Of the head, in order; names in lower case. They are within HttpBounds::head_bytes.
  const std::vector<std::pair<std::string, std::string>>& headers() const { return headers_; }
  const std::string& body() const { return body_; }

 private:
  enum class Part : std::uint8_t { kHead, kLength, kToEnd, kChunkSize, kChunk, kChunkEnd, kTrailer };
  bool step();
  bool take_line(std::string_view& line);
  bool parse_head(std::string_view head);
  bool refuse(State state) {
    state_ = state;
    return false;
  }
  bool finish() { return refuse(State::kWhole); }

  HttpBounds bounds_;
  State state_ = State::kIncomplete;
  Part part_ = Part::kHead;
  std::string in_;          // not taken yet
  std::size_t taken_ = 0;   // of `in_`
  std::size_t seen_ = 0;    // of what is not taken: no line or head ends in it
  std::uint64_t left_ = 0;  // bytes of the body, or of the chunk
  int status_ = 0;
  std::size_t trailer_bytes_ = 0;
  std::string content_type_, content_encoding_, body_;
  std::vector<std::pair<std::string, std::string>> headers_;
};

}  // namespace fathom::metrics
