// HTTP/1.1 on the same port as gRPC, by raw bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "tests/rpc/http2_client.h"
#include "tests/rpc/test_server.h"

namespace kvorum::rpc {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// With C's escapes of a return, a new line and a byte in hexadecimals.
std::string Unescaped(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') {
      bytes += text[at];
    } else if (const char kind = text[++at]; kind == 'x') {
      bytes += static_cast<char>(std::stoi(std::string(text.substr(at + 1, 2)), nullptr, 16));
      at += 2;
    } else {
      bytes += kind == 'r' ? '\r' : '\n';
    }
  }
  return bytes;
}

class Http1Test : public testing::Test {
 protected:
  // All that the server says to these bytes, if the client then closes its half.
  std::string Exchange(std::string_view bytes) {
    RawSocket socket(server_.port());
    socket.Send(bytes);
    socket.CloseWriting();
    return socket.ReceiveAll();
  }
  static std::size_t Count(std::string_view text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos;
         at = text.find(part, at + 1)) {
      ++count;
    }
    return count;
  }

  TestServer server_;
};

TEST_F(Http1Test, GetIsAnswered) {
  const std::string answer = Exchange("GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 17\r\n"));
  EXPECT_THAT(answer, HasSubstr("Date: "));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n{\"health\":\"true\"}"));
}

TEST_F(Http1Test, QueryIsNotPartOfThePath) {
  EXPECT_THAT(Exchange("GET /health?serializable=true HTTP/1.1\r\nHost: a\r\n\r\n"),
              StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(Http1Test, ATargetMayNameItsHost) {
  EXPECT_THAT(Exchange("GET http://other:1/health?a=b HTTP/1.1\r\nHost: a\r\n\r\n"),
              StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(Exchange("GET http://other HTTP/1.1\r\nHost: a\r\n\r\n"),
              StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(Exchange("GET http:///health HTTP/1.1\r\nHost: a\r\n\r\n"),
              EndsWith("\r\n\r\n400 Bad Request: malformed host of the target"));
  EXPECT_THAT(Exchange("GET ftp://other/health HTTP/1.1\r\nHost: a\r\n\r\n"),
              StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  // The rules for bodies see the path as well.
  RawSocket socket(server_.port());
  socket.Send(
      "GET http://a/health HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: "
      "2\r\n\r\n");
  EXPECT_THAT(socket.ReceiveAll(), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(Http1Test, UnknownPathIsGosNotFound) {
  const std::string answer = Exchange("GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n404 page not found\n"));
}

TEST_F(Http1Test, PrefixesAreRouted) {
  EXPECT_THAT(Exchange("POST /v3/kv/range HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"),
              EndsWith("\r\n\r\n/v3/kv/range"));
}

TEST_F(Http1Test, BodiesArriveWhole) {
  const std::string answer =
      Exchange("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_THAT(answer, HasSubstr("X-Method: POST\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nhello"));
  EXPECT_THAT(Exchange("PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n"),
              EndsWith("\r\n\r\nhello"));
}

TEST_F(Http1Test, ABodyThatIsMadeMeanwhileComesInChunks) {
  const std::string request = "POST /parts HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
  const std::string answer = Exchange(request + "GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(answer,
              HasSubstr("Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n4\r\ntwo!\r\n0\r\n\r\n"
                        "HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(Count(answer, "Content-Length"), 1u) << "of the second answer";
}

TEST_F(Http1Test, ToAnOldClientTheBodyEndsWithTheConnection) {
  const std::string answer = Exchange("POST /parts HTTP/1.0\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("chunked")));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nonetwo!"));
}

TEST_F(Http1Test, AHandlerIsToldThatItsClientLeft) {
  {
    RawSocket socket(server_.port());
    socket.Send("GET /waits HTTP/1.1\r\nHost: a\r\n\r\n");
  }
  EXPECT_TRUE(Eventually([&] { return server_.gone_clients == 1; }));
}

TEST_F(Http1Test, BytesMayComeOneByOne) {
  const auto one_by_one = [&](std::string_view request) {
    RawSocket socket(server_.port());
    for (const char c : request) socket.Send(std::string(1, c));
    socket.CloseWriting();
    return socket.ReceiveAll();
  };
  EXPECT_THAT(one_by_one("PRX /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok"),
              EndsWith("\r\n\r\nok"));
  const std::string chunked = "PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_THAT(one_by_one(chunked + "2\r\nok\r\n0\r\na: b\r\n\r\n"), EndsWith("\r\n\r\nok"));
  EXPECT_THAT(one_by_one(chunked + "0\r\na: b\r\n\r\n"), EndsWith("\r\n\r\n"));
}

TEST_F(Http1Test, ConnectionIsKeptAlive) {
  RawSocket socket(server_.port());
  for (int i = 0; i < 3; ++i) {
    socket.Send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_THAT(socket.Receive(), EndsWith("{\"health\":\"true\"}"));
  }
  socket.Send("GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(socket.ReceiveAll(), HasSubstr("Connection: close\r\n"));
  EXPECT_EQ(server_.server().stats().accepted_connections, 1);
}

TEST_F(Http1Test, PipelinedRequestsAreAnsweredInOrder) {
  std::string requests;
  for (int i = 0; i < 20; ++i) {
    requests += i % 2 == 0 ? "GET /later HTTP/1.1\r\nHost: a\r\n\r\n"
                           : "GET /health HTTP/1.1\r\nHost: a\r\n\r\n";
  }
  const std::string answers = Exchange(requests);
  EXPECT_EQ(Count(answers, "HTTP/1.1 200 OK"), 20);
  EXPECT_LT(answers.find("later"), answers.find("health"));
}

TEST_F(Http1Test, TheNextAnswerIsMadeWhenTheClientHasReadTheLast) {
  const std::string request = "GET /large HTTP/1.1\r\nHost: a\r\n\r\n";
  RawSocket socket(server_.port());
  socket.Send(request + request);
  ASSERT_TRUE(Eventually([&] { return server_.large_answers > 0; }));
  socket.Send(request);
  socket.CloseWriting();
  // The loop turns while others are served.
  for (int i = 0; i < 5; ++i) Exchange("GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(server_.large_answers, 1);
  EXPECT_GT(socket.ReceiveAll().size(), 3 * TestServer::kLargeBytes);
}

TEST_F(Http1Test, AnswerMayComeFromAnotherThread) {
  EXPECT_THAT(Exchange("GET /later HTTP/1.1\r\nHost: a\r\n\r\n"), EndsWith("\r\n\r\nlater"));
}

TEST_F(Http1Test, OldClientsGetTheirClose) {
  const std::string answer = Exchange("GET /health HTTP/1.0\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(Exchange("GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
              HasSubstr("Connection: keep-alive\r\n"));
}

TEST_F(Http1Test, HeadHasNoBody) {
  const std::string answer = Exchange("HEAD /health HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 17\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST_F(Http1Test, ExpectationIsMet) {
  RawSocket socket(server_.port());
  socket.Send(
      "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(socket.Receive(), "HTTP/1.1 100 Continue\r\n\r\n");
  socket.Send("ok");
  EXPECT_THAT(socket.Receive(), EndsWith("\r\n\r\nok"));
}

TEST_F(Http1Test, ABodyThatNobodyReadsIsNotAskedFor) {
  RawSocket socket(server_.port());
  socket.Send(
      "GET /health HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  const std::string answer = socket.ReceiveAll();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
}

TEST_F(Http1Test, NonsenseIsABadRequest) {
  const std::string answer = Exchange("nonsense\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n400 Bad Request"));
}

// The list is also sent to other ports.
TEST_F(Http1Test, MalformedRequestsAreRefusedOnceAndEndTheirConnection) {
  std::ifstream list(KVORUM_MALFORMED_REQUESTS);
  int requests = 0;
  for (std::string line; std::getline(list, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const std::string answer = Exchange(Unescaped(line.substr(4)));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 " + line.substr(0, 4))) << line;
    EXPECT_THAT(answer, HasSubstr("Connection: close\r\n")) << line;
    EXPECT_EQ(Count(answer, "HTTP/1.1"), 1) << line;
    ++requests;
  }
  EXPECT_GT(requests, 40);
}

TEST_F(Http1Test, ARequestHasOneHost) {
  const auto answer = [&](const std::string& fields) {
    return Exchange("GET /health HTTP/1.1\r\n" + fields + "\r\n");
  };
  EXPECT_THAT(answer(""), EndsWith("\r\n\r\n400 Bad Request: missing required Host header"));
  EXPECT_THAT(answer("Host: a\r\nHost: b\r\n"),
              EndsWith("\r\n\r\n400 Bad Request: too many Host headers"));
  EXPECT_THAT(answer("Host: a b\r\n"), EndsWith("\r\n\r\n400 Bad Request: malformed Host header"));
  for (const char* good : {"", "a.b:2379", "[::1]:2379", "[fe80::1%25eth0]", "a_b~c"})
    EXPECT_THAT(answer("Host: " + std::string(good) + "\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"))
        << good;
}

TEST_F(Http1Test, OldClientsNeedNoHost) {
  EXPECT_THAT(Exchange("GET /health HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(Exchange("GET /health HTTP/1.0\r\nHost: a/b\r\n\r\n"),
              StartsWith("HTTP/1.1 400 Bad Request\r\n"));
}

TEST_F(Http1Test, AnEncodingThatIsNotExactlyChunkedIsNotImplemented) {
  EXPECT_THAT(Exchange("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n"),
              EndsWith("\r\n\r\nUnsupported transfer encoding"));
  EXPECT_THAT(Exchange("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"
                       "2\r\nok\r\n0\r\n\r\n"),
              EndsWith("\r\n\r\nok"));
}

TEST_F(Http1Test, SizesAreLimited) {
  Options options;
  options.http_max_header_bytes = 1000;
  options.http_max_body_bytes = 1000;
  TestServer server(options);
  const auto status = [&](const std::string& bytes) {
    RawSocket socket(server.port());
    socket.Send(bytes);
    const std::string answer = socket.ReceiveAll();
    return answer.substr(0, answer.find('\r'));
  };
  EXPECT_EQ(status("GET /" + std::string(2000, 'a') + " HTTP/1.1\r\n\r\n"),
            "HTTP/1.1 431 Request Header Fields Too Large");
  EXPECT_EQ(status("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n"),
            "HTTP/1.1 413 Payload Too Large");
  EXPECT_EQ(status("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" +
                   std::string(1001, 'b')),
            "HTTP/1.1 413 Payload Too Large");
}

TEST_F(Http1Test, ABodyThatIsTooLargeMayBeRefusedInWordsOfTheServers) {
  Options options;
  options.http_max_body_bytes = 1000;
  options.http_too_large_text = [](std::string_view method, std::string_view path,
                                   std::uint64_t bytes) {
    return std::string(method) + " " + std::string(path) + " " + std::to_string(bytes);
  };
  TestServer server(options);
  const auto said = [&](const std::string& bytes) {
    RawSocket socket(server.port());
    socket.Send(bytes);
    return socket.ReceiveAll();
  };
  EXPECT_THAT(said("POST /echo?a HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n"),
              EndsWith("\r\n\r\nPOST /echo 1001"));
  EXPECT_THAT(said("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" +
                   std::string(1001, 'b')),
              EndsWith("\r\n\r\nPOST /echo 0"));
}

TEST_F(Http1Test, SlowClientsAreCutOff) {
  Options options;
  options.http_header_timeout = std::chrono::milliseconds(50);
  options.http_body_timeout = std::chrono::milliseconds(50);
  options.http_idle_timeout = std::chrono::milliseconds(50);
  TestServer server(options);
  RawSocket head(server.port());
  head.Send("GET /health HTTP/1.1\r\nHost:");
  RawSocket body(server.port());
  body.Send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhe");
  RawSocket idle(server.port());
  idle.Send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(head.ReceiveAll(), "");
  EXPECT_EQ(body.ReceiveAll(), "");
  EXPECT_THAT(idle.ReceiveAll(), EndsWith("{\"health\":\"true\"}"));
}

TEST_F(Http1Test, ShutdownClosesIdleConnections) {
  RawSocket socket(server_.port());
  socket.Send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(socket.Receive(), Not(testing::IsEmpty()));
  const auto begin = std::chrono::steady_clock::now();
  std::thread reader([&] {
    EXPECT_EQ(socket.ReceiveAll(), "");
    socket.CloseWriting();
  });
  server_.Shutdown(std::chrono::seconds(10));
  reader.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace kvorum::rpc
