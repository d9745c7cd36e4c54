// The bytes of a body between the session that receives them and the handler that reads them.
#include "rpc/call/open_body.h"

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <string>
#include <utility>

#include "rpc/call/grpc_protocol.h"
#include "rpc/io/loop.h"

namespace kvorum::rpc {
namespace {

class OpenBodyTest : public testing::Test {
 protected:
  OpenBodyTest() { loop_.Start(); }
  ~OpenBodyTest() override {
    Run([this] { body_ = nullptr; });
    loop_.Stop();
  }

  // On the loop, until it is done.
  void Run(std::move_only_function<void()> task) {
    std::promise<void> done;
    loop_.Post([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }
  void Read() {
    Run([this] {
      body_->Read([this](Result<std::string> bytes) { read_.emplace(std::move(bytes)); });
    });
    Run([] {});  // the wake-up in which it is called
  }
  std::optional<Result<std::string>> Taken() {
    std::optional<Result<std::string>> taken;
    Run([] {});
    Run([&] { taken = std::exchange(read_, std::nullopt); });
    return taken;
  }

  Loop loop_{0, "test"};
  int reads_ = 0;
  std::shared_ptr<OpenBody> body_ = std::make_shared<OpenBody>(loop_, [this] { ++reads_; });
  std::optional<Result<std::string>> read_;
};

TEST_F(OpenBodyTest, AReadTakesAllThatHasCome) {
  Run([this] {
    body_->Put("ab");
    body_->Put("c");
  });
  Read();
  EXPECT_EQ(Taken().value().value(), "abc");
  EXPECT_EQ(reads_, 1) << "the session may go on";
}

TEST_F(OpenBodyTest, AReadWaitsForBytesThenForTheEnd) {
  Read();
  EXPECT_FALSE(Taken().has_value());
  Run([this] { body_->Put("x"); });
  EXPECT_EQ(Taken().value().value(), "x");
  Read();
  EXPECT_FALSE(Taken().has_value());
  Run([this] { body_->End(); });
  EXPECT_EQ(Taken().value().value(), "");
  Read();
  EXPECT_EQ(Taken().value().value(), "") << "it stays so";
}

TEST_F(OpenBodyTest, AClientThatLeavesFailsTheReadAndDropsTheRest) {
  Run([this] {
    body_->Put("never read");
    body_->Fail(CanceledError());
  });
  EXPECT_EQ(body_->held_bytes(), 0u);
  Read();
  EXPECT_EQ(Taken().value().error().code, Code::kCanceled);
  EXPECT_EQ(reads_, 0) << "the session is gone";
}

TEST_F(OpenBodyTest, ABodyThatHasEndedDoesNotFail) {
  Run([this] {
    body_->Put("whole");
    body_->End();
    body_->Fail(CanceledError());
  });
  Read();
  EXPECT_EQ(Taken().value().value(), "whole");
}

TEST_F(OpenBodyTest, ItIsFullFromABoundOn) {
  Run([this] { body_->Put(std::string(OpenBody::kFullBytes - 1, 'x')); });
  EXPECT_FALSE(body_->is_full());
  Run([this] { body_->Put("x"); });
  EXPECT_TRUE(body_->is_full());
  Read();
  EXPECT_FALSE(body_->is_full());
}

}  // namespace
}  // namespace kvorum::rpc
