#include "base/indexed_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/rng.h"

namespace kvorum {
namespace {

struct Job {
  int rank = 0;
  HeapPlace place = kNotInHeap;
};
struct ByRank {
  static bool IsBefore(const Job* a, const Job* b) { return a->rank < b->rank; }
  static HeapPlace& PlaceOf(Job* job) { return job->place; }
};
using Jobs = IndexedHeap<Job*, ByRank>;

TEST(IndexedHeapTest, TheFirstStandsInFront) {
  Job late{.rank = 3};
  Job early{.rank = 1};
  Job middle{.rank = 2};
  Jobs heap;
  EXPECT_TRUE(heap.empty());
  for (Job* job : {&late, &early, &middle}) heap.Push(job);
  EXPECT_EQ(heap.front(), &early);
  early.rank = 9;
  heap.Replace(early.place, &early);
  EXPECT_EQ(heap.front(), &middle);
  heap.Erase(middle.place);
  EXPECT_EQ(middle.place, kNotInHeap);
  EXPECT_EQ(heap.front(), &late);
  heap.Clear();
  EXPECT_EQ(late.place, kNotInHeap);
  EXPECT_EQ(early.place, kNotInHeap);
  EXPECT_TRUE(heap.empty());
}

TEST(IndexedHeapTest, AnswersAsTheListOfItsItemsDoes) {
  Rng rng(11);
  std::vector<Job> jobs(60);
  const auto in_heap = [](const Job& job) { return job.place != kNotInHeap; };
  Jobs heap;
  for (int round = 0; round < 20'000; ++round) {
    if (round % 500 == 0) {
      heap.Clear();
      std::vector<Job*> some;
      for (Job& job : jobs) {
        job.rank = static_cast<int>(rng.Below(40));
        if (rng.Below(2) == 0) some.push_back(&job);
      }
      heap.Assign(some);
    }
    Job& job = jobs[rng.Below(jobs.size())];
    if (in_heap(job) && rng.Below(2) == 0) {
      heap.Erase(job.place);
    } else {
      job.rank = static_cast<int>(rng.Below(40));
      in_heap(job) ? heap.Replace(job.place, &job) : heap.Push(&job);
    }
    heap.CheckInvariants();
    ASSERT_EQ(heap.size(), static_cast<std::size_t>(std::ranges::count_if(jobs, in_heap)));
    for (const Job& other : jobs) {
      if (in_heap(other)) {
        ASSERT_EQ(heap[other.place], &other);
        ASSERT_LE(heap.front()->rank, other.rank);
      }
    }
  }
}

}  // namespace
}  // namespace kvorum
