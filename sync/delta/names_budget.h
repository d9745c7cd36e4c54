// The memory that the subscribers' names take over all streams of a control plane, which the limit
// of a single one leaves open. For the plane's executor.
#pragma once

#include <algorithm>
#include <cstddef>

namespace kvorum::sync {

class NamesBudget {
 public:
  explicit NamesBudget(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}
  NamesBudget(const NamesBudget&) = delete;
  NamesBudget& operator=(const NamesBudget&) = delete;

  std::size_t limit_bytes() const { return limit_bytes_; }
  std::size_t used_bytes() const { return used_bytes_; }

  // The part that one subscription takes. The budget outlives it.
  class Share {
   public:
    // Null: nothing is counted.
    explicit Share(NamesBudget* budget) : budget_(budget) {}
    ~Share() { (void)Set(0); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // Takes this much from now on. False, and as before, if that is more than there is.
    bool Set(std::size_t bytes) {
      if (budget_ == nullptr) return true;
      const std::size_t others = budget_->used_bytes_ - bytes_;
      if (bytes > bytes_ && bytes > budget_->limit_bytes_ - std::min(others, budget_->limit_bytes_))
        return false;
      budget_->used_bytes_ = others + bytes;
      bytes_ = bytes;
      return true;
    }

   private:
    NamesBudget* const budget_;
    std::size_t bytes_ = 0;
  };

 private:
  const std::size_t limit_bytes_;
  std::size_t used_bytes_ = 0;
};

}  // namespace kvorum::sync
