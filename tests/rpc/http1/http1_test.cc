// HTTP/1.1 on the same port as gRPC, by raw bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <initializer_list>
#include <string>
#include <thread>

#include "tests/rpc/http2_client.h"
#include "tests/rpc/test_server.h"

namespace kvorum::rpc {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

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
  for (const char* bytes :
       {"nonsense\r\n\r\n", "GET / HTTP/1.1\r\nbroken\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"}) {
    const std::string answer = Exchange(bytes);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 Bad Request\r\n")) << bytes;
    EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
    EXPECT_THAT(answer, EndsWith("\r\n\r\n400 Bad Request"));
  }
}

TEST_F(Http1Test, ARequestHasOneHost) {
  const auto answer = [&](const std::string& fields) {
    return Exchange("GET /health HTTP/1.1\r\n" + fields + "\r\n");
  };
  EXPECT_THAT(answer(""), EndsWith("\r\n\r\n400 Bad Request: missing required Host header"));
  EXPECT_THAT(answer("Host: a\r\nHost: a\r\n"), StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_THAT(answer("Host: a\r\nHost: b\r\n"), StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  for (const char* bad : {"a b", "a/b", "a@b", "a\"b", "a{b", "a\xc3\xa4", "a\\b", "a?b", "a#b"})
    EXPECT_THAT(answer("Host: " + std::string(bad) + "\r\n"),
                EndsWith("\r\n\r\n400 Bad Request: malformed Host header"))
        << bad;
  for (const char* good : {"", "a.b:2379", "[::1]:2379", "[fe80::1%25eth0]", "a_b~c"})
    EXPECT_THAT(answer("Host: " + std::string(good) + "\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"))
        << good;
}

TEST_F(Http1Test, OldClientsNeedNoHost) {
  EXPECT_THAT(Exchange("GET /health HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(Exchange("GET /health HTTP/1.0\r\nHost: a/b\r\n\r\n"),
              StartsWith("HTTP/1.1 400 Bad Request\r\n"));
}

// An intermediary may see another end of the request than we do.
TEST_F(Http1Test, AnEncodingThatIsNotExactlyChunkedIsNotImplemented) {
  const std::string not_implemented = "501 Not Implemented";
  const std::string bad_request = "400 Bad Request";
  for (const auto& [fields, status] : std::initializer_list<std::pair<const char*, std::string>>{
           {"Transfer-Encoding: gzip\r\n", not_implemented},
           {"Transfer-Encoding: gzip, chunked\r\n", not_implemented},
           {"Transfer-Encoding: chunked, chunked\r\n", not_implemented},
           {"Transfer-Encoding: identity\r\n", not_implemented},
           {"Transfer-Encoding: xchunked\r\n", not_implemented},
           {"Transfer-Encoding:\r\n", not_implemented},
           {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", bad_request},
           {"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", bad_request}}) {
    const std::string answer = Exchange("POST /echo HTTP/1.1\r\nHost: a\r\n" + std::string(fields) +
                                        "\r\n2\r\nok\r\n0\r\n\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 " + status + "\r\n")) << fields;
    EXPECT_EQ(Count(answer, "HTTP/1.1"), 1) << fields;
  }
  EXPECT_THAT(Exchange("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n"),
              EndsWith("\r\n\r\nUnsupported transfer encoding"));
  EXPECT_THAT(Exchange("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"
                       "2\r\nok\r\n0\r\n\r\n"),
              EndsWith("\r\n\r\nok"));
}

TEST_F(Http1Test, ALengthTogetherWithAnEncodingIsABadRequest) {
  const std::string body = "\r\n2\r\nok\r\n0\r\n\r\n";
  for (const char* fields : {"Content-Length: 12\r\nTransfer-Encoding: chunked\r\n",
                             "Transfer-Encoding: chunked\r\nContent-Length: 12\r\n"}) {
    const std::string answer =
        Exchange("POST /echo HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + body);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 Bad Request\r\n")) << fields;
    EXPECT_EQ(Count(answer, "HTTP/1.1"), 1) << fields;
  }
  EXPECT_THAT(Exchange("POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n" + body),
              StartsWith("HTTP/1.1 400 Bad Request\r\n"));
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
