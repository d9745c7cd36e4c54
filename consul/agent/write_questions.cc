#include "consul/agent/write_questions.h"

#include <utility>

namespace kvorum::consul {

WriteQuestions::WriteQuestions(sync::Syncer& syncer, Executor& executor)
    : syncer_(syncer),
      executor_(executor),
      loop_(executor, [this](TimePoint now) { return Step(now); }) {}

void WriteQuestions::Ask(Exchange exchange, std::vector<WriteQuestion> questions, GoOn go_on) {
  Waiting waiting{.exchange = std::move(exchange),
                  .questions = std::move(questions),
                  .go_on = std::move(go_on),
                  .end = executor_.clock().Now() + kPatience};
  loop_.Post([this, waiting = std::move(waiting)]() mutable { Begin(std::move(waiting)); });
}

void WriteQuestions::Begin(Waiting waiting) {
  if (waiting_.size() >= kMost)
    return waiting.exchange.Text(500, "too many changes wait for the store");
  waiting_.emplace(++last_, std::move(waiting));
  AskNext(last_);
}

void WriteQuestions::AskNext(std::uint64_t number) {
  const auto found = waiting_.find(number);
  if (found == waiting_.end()) return;
  if (found->second.questions.empty()) return End(found);
  const WriteQuestion question = std::move(found->second.questions.back());
  found->second.questions.pop_back();
  syncer_.AskToWrite(
      question.places, question.token, [this, number, loop = loop_.handle()](Result<void> answer) {
        loop.Post([this, number, answer = std::move(answer)] { Answered(number, answer); });
      });
}

void WriteQuestions::Answered(std::uint64_t number, const Result<void>& answer) {
  if (answer) return AskNext(number);
  const auto found = waiting_.find(number);
  if (found == waiting_.end()) return;
  if (answer.error().code != Code::kPermissionDenied) return End(found);
  found->second.exchange.Text(403, std::string(kMayNotWrite));
  waiting_.erase(found);
}

void WriteQuestions::End(std::map<std::uint64_t, Waiting>::iterator at) {
  Waiting waiting = std::move(at->second);
  waiting_.erase(at);
  waiting.go_on(std::move(waiting.exchange));
}

TimePoint WriteQuestions::Step(TimePoint now) {
  while (!waiting_.empty() && waiting_.begin()->second.end <= now) End(waiting_.begin());
  return waiting_.empty() ? sync::kNever : waiting_.begin()->second.end;
}

}  // namespace kvorum::consul
