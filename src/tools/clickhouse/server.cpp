#include "tools/clickhouse/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/clock.h"
#include "base/packed/packer.h"
#include "base/text.h"
#include "linux/metrics/http_client.h"

namespace fathom::clickhouse {
namespace {

constexpr std::uint64_t kExecuteSeconds = 60, kSelectSeconds = 120, kInsertSeconds = 120;
constexpr std::size_t kMostAnswer = std::size_t{1} << 30;
constexpr std::size_t kMostMessage = 300;

// "Code: 60, e.displayText() = DB::Exception: Table a.b doesn't exist., e.what() = ...": the number; 0 if there is none.
int code_of(std::string_view text) {
  int code = 0;
  const std::size_t at = text.find("Code: ");
  if (at != text.npos) std::from_chars(text.data() + at + 6, text.data() + text.size(), code);
  return code;
}

std::string message_of(std::string_view text) {
  if (const std::size_t at = text.find("DB::Exception: "); at != text.npos) text.remove_prefix(at + 15);
  text = text.substr(0, text.find(", e.what()"));
  text = text.substr(0, text.find('\n'));
  return std::string(trimmed(text.substr(0, kMostMessage)));
}

Error refused(const Location& location, int status, std::string_view body) {
  const std::string where = location.server.text();
  const int code = code_of(body);
  const std::string message =
      fmt::format("{}: {}", where, body.empty() ? fmt::format("status {}", status) : message_of(body));
  // src/Common/ErrorCodes.cpp of ClickHouse: 60 no such table, 81 no such database; 192 to 194 and 516 are about the login.
  if (code == 60)
    return {ErrorKind::kNotFound, message,
            "fathom push clickhouse://HOST/DATABASE FILE, which creates the tables"};
  if (code == 81)
    return {ErrorKind::kNotFound, message, fmt::format("CREATE DATABASE {}", location.database)};
  if (status == 401 || status == 403 || code == 516 || (code >= 192 && code <= 194) || code == 497)
    return {ErrorKind::kPermission, message,
            "clickhouse://USER@HOST/DATABASE, with CLICKHOUSE_PASSWORD in the environment"};
  // Out of memory, too many parts, too slow, a server that starts or stops: it may work later.
  const bool later = status == 429 || status >= 502 || code == 159 || code == 202 || code == 209 ||
                     code == 210 || code == 241 || code == 242 || code == 252 || code == 279;
  return {later ? ErrorKind::kSystem : ErrorKind::kUnsupported, message, ""};
}

}  // namespace

std::string sql_text(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\\' || c == '\'') out += '\\';
    if (static_cast<unsigned char>(c) < ' ')
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + "'";
}

std::string sql_list(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ",") + sql_text(text);
  return out;
}

Result<std::string> Server::post(const std::string& parameters, std::string body, bool packed,
                                 std::uint64_t seconds) const {
  metrics::HttpRequest request;
  request.url = location_.server;
  request.url.target = "/?database=" + metrics::percent_encode(location_.database) + parameters;
  request.method = "POST";
  request.body = std::move(body);
  if (packed) request.headers.emplace_back("Content-Encoding", "gzip");
  auto reply = metrics::http_request(request, monotonic_ns() + seconds * 1'000'000'000, stop_,
                                     {64 << 10, kMostAnswer});
  if (!reply) return tl::unexpected<Error>(reply.error());
  if (reply->status != 200) return tl::unexpected<Error>(refused(location_, reply->status, reply->body));
  return std::move(reply->body);
}

Result<> Server::execute(const std::string& sql) const {
  auto done = post("", sql, false, kExecuteSeconds);
  if (!done) return tl::unexpected<Error>(done.error());
  return {};
}

Result<std::string> Server::select(const std::string& sql) const {
  // Without waiting for the end, an error in the middle would come after a status of 200.
  return post(fmt::format("&readonly=2&wait_end_of_query=1&max_execution_time={}&enable_http_compression=1",
                          kSelectSeconds),
              sql, false, kSelectSeconds + 10);
}

Result<std::uint64_t> Server::insert(const std::string& sql, const std::string& rows) const {
  packed::Packer packer(packed::Packing::kGzip);
  packer.add(rows);
  auto packed = packer.finish();
  if (!packed) return tl::unexpected<Error>(packed.error());
  const std::uint64_t bytes = packed->size();
  // A Distributed table answers before its servers have the rows, unless it is asked to wait.
  auto done = post("&insert_distributed_sync=1&query=" + metrics::percent_encode(sql), std::move(*packed),
                   true, kInsertSeconds);
  if (!done) return tl::unexpected<Error>(done.error());
  return bytes;
}

}  // namespace fathom::clickhouse
