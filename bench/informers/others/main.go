// Follows a prefix with an informer that others wrote, for bench/compare_informers.py, as ours does
// in follow.cc:
//
//	informers -kind shared|cache -endpoint HOST:PORT -prefix P -objects N -listeners L
//
// Says {"heap_bytes": ..., "rss_bytes": ...} once every listener has been told of all objects. Then
// each line N on standard input begins a measure of N changes, which is answered by one line.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// A follower calls told for each object or change that each listener is told of.
type follower func(ctx context.Context, client *clientv3.Client, prefix string, listeners int,
	told func(listener int, value []byte)) error

var followers = map[string]follower{"shared": followShared}

type recorder struct {
	told  []atomic.Int64
	wake  chan struct{}
	goal  atomic.Int64
	mutex sync.Mutex
	lags  []int64 // of the first listener, in nanoseconds
	begun time.Time
	ended time.Time
}

func (r *recorder) tell(listener int, value []byte) {
	if listener == 0 {
		now := time.Now()
		sent, err := strconv.ParseInt(strings.TrimRight(string(value[:min(20, len(value))]), "."), 10, 64)
		r.mutex.Lock()
		if err == nil {
			r.lags = append(r.lags, now.UnixNano()-sent)
		}
		if r.begun.IsZero() {
			r.begun = now
		}
		r.mutex.Unlock()
	}
	if r.told[listener].Add(1) == r.goal.Load() {
		r.wake <- struct{}{}
	}
}

// Waits until every listener has been told so much.
func (r *recorder) wait() bool {
	timeout := time.After(60 * time.Second)
	for range r.told {
		select {
		case <-r.wake:
		case <-timeout:
			return false
		}
	}
	return true
}

func (r *recorder) least() int64 {
	least := r.told[0].Load()
	for i := range r.told {
		least = min(least, r.told[i].Load())
	}
	return least
}

func cpu() time.Duration {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func residentBytes() int64 {
	text, _ := os.ReadFile("/proc/self/statm")
	pages, _ := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

func say(what map[string]any) {
	line, _ := json.Marshal(what)
	fmt.Println(string(line))
}

func run() error {
	kind := flag.String("kind", "shared", "")
	endpoint := flag.String("endpoint", "", "")
	prefix := flag.String("prefix", "", "")
	objects := flag.Int64("objects", 0, "")
	listeners := flag.Int("listeners", 1, "")
	flag.Parse()
	follow, ok := followers[*kind]
	if !ok {
		return fmt.Errorf("this program has no informer %q", *kind)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{*endpoint}, DialTimeout: 10 * time.Second})
	if err != nil {
		return err
	}
	record := &recorder{told: make([]atomic.Int64, *listeners), wake: make(chan struct{}, *listeners)}
	record.goal.Store(*objects)
	if err := follow(context.Background(), client, *prefix, *listeners, record.tell); err != nil {
		return err
	}
	if !record.wait() {
		return fmt.Errorf("not every listener was told of %d objects", *objects)
	}
	record.lags = nil
	runtime.GC()
	runtime.GC()
	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	say(map[string]any{"heap_bytes": heap.HeapAlloc, "rss_bytes": residentBytes()})
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		changes, _ := strconv.ParseInt(lines.Text(), 10, 64)
		before := record.least()
		record.mutex.Lock()
		record.lags, record.begun = nil, time.Time{}
		record.mutex.Unlock()
		record.goal.Store(before + changes)
		used := cpu()
		say(map[string]any{})
		complete := record.wait()
		ended := time.Now()
		record.mutex.Lock()
		lags := record.lags
		sort.Slice(lags, func(i, j int) bool { return lags[i] < lags[j] })
		if len(lags) == 0 {
			lags = []int64{0}
		}
		at := func(share float64) int64 { return lags[int(float64(len(lags)-1)*share)] / 1000 }
		say(map[string]any{
			"complete": complete, "told": record.least() - before, "seconds": ended.Sub(record.begun).Seconds(),
			"cpu_us": float64((cpu() - used).Microseconds()), "p50_us": at(0.5), "p99_us": at(0.99),
		})
		record.mutex.Unlock()
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
