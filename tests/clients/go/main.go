// Command clients uses a cluster as programs in Go do: client/v3 with concurrency, leasing, ordering and mirror.
//
//	clients SCENARIO
//
// It exits with 0 once the scenario went well. "watch" prints "halfway" when the leader is to be killed.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.etcd.io/etcd/client/v3/leasing"
	"go.etcd.io/etcd/client/v3/mirror"
	"go.etcd.io/etcd/client/v3/ordering"
)

const events = 200

func check(err error, what string) {
	if err != nil {
		fail("%s: %v", what, err)
	}
}

func fail(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(1)
}

func connect(user, password string) *clientv3.Client {
	config := clientv3.Config{
		Endpoints:   strings.Split(os.Getenv("ENDPOINTS"), ","),
		DialTimeout: 30 * time.Second,
		Username:    user,
		Password:    password,
	}
	if ca := os.Getenv("CACERT"); ca != "" {
		info := transport.TLSInfo{TrustedCAFile: ca, CertFile: os.Getenv("CERT"), KeyFile: os.Getenv("KEY")}
		secured, err := info.ClientConfig()
		check(err, "TLS")
		secured.MinVersion = tls.VersionTLS12
		config.TLS = secured
	}
	client, err := clientv3.New(config)
	check(err, "connect")
	return client
}

func txn(ctx context.Context, client *clientv3.Client) {
	absent := clientv3.Compare(clientv3.CreateRevision("txn/a"), "=", 0)
	create := func() *clientv3.TxnResponse {
		answer, err := client.Txn(ctx).If(absent).Then(clientv3.OpPut("txn/a", "1")).Else(clientv3.OpGet("txn/a")).Commit()
		check(err, "txn")
		return answer
	}
	if first := create(); !first.Succeeded {
		fail("the key was there already")
	}
	second := create()
	if second.Succeeded || string(second.Responses[0].GetResponseRange().Kvs[0].Value) != "1" {
		fail("the second txn answers %v", second)
	}
	_, err := client.Get(ctx, "txn/a", clientv3.WithRev(1<<40))
	if !errors.Is(err, rpctypes.ErrFutureRev) {
		fail("a future revision is %v", err)
	}
	for i := range 25 {
		_, err := client.Put(ctx, fmt.Sprintf("txn/page/%02d", i), "v")
		check(err, "put")
	}
	page, err := client.Get(ctx, "txn/page/", clientv3.WithPrefix(), clientv3.WithLimit(10),
		clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend))
	check(err, "page")
	if page.Count != 25 || !page.More || string(page.Kvs[0].Key) != "txn/page/24" {
		fail("the page is %v", page)
	}
}

// The leader dies half-way: no event is missed, repeated or out of order.
func watch(ctx context.Context, client *clientv3.Client) {
	begin, err := client.Get(ctx, "watched")
	check(err, "get")
	seen := client.Watch(clientv3.WithRequireLeader(ctx), "watched/", clientv3.WithPrefix(),
		clientv3.WithRev(begin.Header.Revision+1), clientv3.WithPrevKV())
	go func() {
		for i := range events {
			if i == events/2 {
				fmt.Println("halfway")
			}
			for {
				attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
				_, err := client.Put(attempt, fmt.Sprintf("watched/%03d", i), "v")
				cancel()
				if err == nil {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
		}
	}()
	newest, last := "", int64(0)
	for newest != fmt.Sprintf("watched/%03d", events-1) {
		answer, open := <-seen
		if !open || answer.Canceled && !errors.Is(answer.Err(), rpctypes.ErrNoLeader) {
			fail("the watch ended: %v", answer.Err())
		}
		if answer.Canceled { // there was no leader: again, from where it was
			seen = client.Watch(clientv3.WithRequireLeader(ctx), "watched/", clientv3.WithPrefix(),
				clientv3.WithRev(max(last, begin.Header.Revision)+1), clientv3.WithPrevKV())
			continue
		}
		for _, event := range answer.Events {
			key := string(event.Kv.Key)
			if event.Kv.ModRevision <= last || key < newest || key > newest && event.PrevKv != nil && event.IsCreate() {
				fail("%s at %d came after %s at %d", key, event.Kv.ModRevision, newest, last)
			}
			newest, last = key, event.Kv.ModRevision
		}
	}
	all, err := client.Get(ctx, "watched/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	check(err, "count")
	if all.Count != events {
		fail("%d keys of %d", all.Count, events)
	}
}

func lease(ctx context.Context, client *clientv3.Client) {
	granted, err := client.Grant(ctx, 3)
	check(err, "grant")
	_, err = client.Put(ctx, "leased", "v", clientv3.WithLease(granted.ID))
	check(err, "put")
	kept, cancel := context.WithCancel(ctx)
	answers, err := client.KeepAlive(kept, granted.ID)
	check(err, "keep alive")
	for range 3 {
		if answer, open := <-answers; !open || answer.TTL != 3 {
			fail("the keep-alive answers %v", answer)
		}
	}
	gone := client.Watch(ctx, "leased")
	cancel()
	for answer := range gone {
		for _, event := range answer.Events {
			if event.Type == clientv3.EventTypeDelete {
				left, err := client.TimeToLive(ctx, granted.ID)
				check(err, "time to live")
				if left.TTL != -1 {
					fail("the lease that ended has %d s", left.TTL)
				}
				_, err = client.Revoke(ctx, granted.ID)
				if !errors.Is(err, rpctypes.ErrLeaseNotFound) {
					fail("revoking it again is %v", err)
				}
				return
			}
		}
	}
}

func session(ctx context.Context, client *clientv3.Client) *concurrency.Session {
	made, err := concurrency.NewSession(client, concurrency.WithTTL(10), concurrency.WithContext(ctx))
	check(err, "session")
	return made
}

func lock(ctx context.Context, client *clientv3.Client) {
	inside, rounds := 0, 0
	done := make(chan struct{})
	for range 3 {
		go func() {
			mutex := concurrency.NewMutex(session(ctx, client), "locks/go")
			for range 5 {
				check(mutex.Lock(ctx), "lock")
				inside++
				if inside != 1 {
					fail("%d hold the lock", inside)
				}
				rounds++
				inside--
				check(mutex.Unlock(ctx), "unlock")
			}
			done <- struct{}{}
		}()
	}
	for range 3 {
		<-done
	}
	if rounds != 15 {
		fail("%d rounds", rounds)
	}
	held := concurrency.NewMutex(session(ctx, client), "locks/held")
	check(held.Lock(ctx), "lock")
	other := concurrency.NewMutex(session(ctx, client), "locks/held")
	if err := other.TryLock(ctx); !errors.Is(err, concurrency.ErrLocked) {
		fail("a lock that is held is %v", err)
	}
	_, err := concurrency.NewSTM(client, func(stm concurrency.STM) error {
		stm.Put("locks/stm", stm.Get("locks/stm")+"x")
		return nil
	})
	check(err, "software transaction")
}

func election(ctx context.Context, client *clientv3.Client) {
	first := concurrency.NewElection(session(ctx, client), "election/go")
	check(first.Campaign(ctx, "one"), "campaign")
	second := concurrency.NewElection(session(ctx, client), "election/go")
	won := make(chan error)
	go func() { won <- second.Campaign(ctx, "two") }()
	observed := first.Observe(ctx)
	if leader := <-observed; string(leader.Kvs[0].Value) != "one" {
		fail("the leader is %v", leader)
	}
	check(first.Proclaim(ctx, "uno"), "proclaim")
	if leader := <-observed; string(leader.Kvs[0].Value) != "uno" {
		fail("the leader proclaims %v", leader)
	}
	check(first.Resign(ctx), "resign")
	check(<-won, "the second campaign")
	leader, err := second.Leader(ctx)
	check(err, "leader")
	if string(leader.Kvs[0].Value) != "two" {
		fail("the leader is then %v", leader)
	}
}

func auth(ctx context.Context, root *clientv3.Client) {
	_, err := root.UserAdd(ctx, "root", "rootpw")
	check(err, "user add")
	_, err = root.UserGrantRole(ctx, "root", "root")
	check(err, "grant role")
	_, err = root.RoleAdd(ctx, "reader")
	check(err, "role add")
	_, err = root.RoleGrantPermission(ctx, "reader", "auth/", clientv3.GetPrefixRangeEnd("auth/"),
		clientv3.PermissionType(clientv3.PermRead))
	check(err, "grant permission")
	_, err = root.UserAdd(ctx, "ann", "annpw")
	check(err, "user add")
	_, err = root.UserGrantRole(ctx, "ann", "reader")
	check(err, "grant role")
	_, err = root.AuthEnable(ctx)
	check(err, "enable")
	ann := connect("ann", "annpw")
	_, err = ann.Get(ctx, "auth/x")
	check(err, "a permitted read")
	if _, err = ann.Put(ctx, "auth/x", "v"); !errors.Is(err, rpctypes.ErrPermissionDenied) {
		fail("a forbidden write is %v", err)
	}
	if _, err = root.Get(ctx, "auth/x"); !errors.Is(err, rpctypes.ErrUserEmpty) {
		fail("a read without a user is %v", err)
	}
	again := connect("root", "rootpw")
	_, err = again.Put(ctx, "auth/x", "v")
	check(err, "root's write")
	_, err = again.AuthDisable(ctx)
	check(err, "disable")
}

func leasingCache(ctx context.Context, client *clientv3.Client) {
	one, closeOne, err := leasing.NewKV(client, "leasing/")
	check(err, "leasing")
	defer closeOne()
	two, closeTwo, err := leasing.NewKV(client, "leasing/")
	check(err, "leasing")
	defer closeTwo()
	_, err = client.Put(ctx, "cached", "1")
	check(err, "put")
	for range 3 {
		answer, err := one.Get(ctx, "cached")
		check(err, "cached get")
		if string(answer.Kvs[0].Value) != "1" {
			fail("the cache has %v", answer)
		}
	}
	_, err = two.Put(ctx, "cached", "2") // revokes the other's lease on the key
	check(err, "put")
	answer, err := one.Get(ctx, "cached")
	check(err, "cached get")
	if string(answer.Kvs[0].Value) != "2" {
		fail("the cache is stale: %v", answer)
	}
}

func ordered(ctx context.Context, client *clientv3.Client) {
	kv := ordering.NewKV(client.KV, ordering.NewOrderViolationSwitchEndpointClosure(client))
	last := int64(0)
	for i := range 20 {
		_, err := client.Put(ctx, "ordered", fmt.Sprint(i))
		check(err, "put")
		answer, err := kv.Get(ctx, "ordered", clientv3.WithSerializable())
		check(err, "get")
		if answer.Header.Revision < last {
			fail("revision %d after %d", answer.Header.Revision, last)
		}
		last = answer.Header.Revision
	}
}

func mirrored(ctx context.Context, client *clientv3.Client) {
	for i := range 1500 { // more than a page
		_, err := client.Put(ctx, fmt.Sprintf("mirror/%04d", i), "v")
		check(err, "put")
	}
	sync := mirror.NewSyncer(client, "mirror/", 0)
	pages, problems := sync.SyncBase(ctx)
	got := 0
	for page := range pages {
		got += len(page.Kvs)
	}
	check(<-problems, "base")
	if got != 1500 {
		fail("%d keys", got)
	}
	updates := sync.SyncUpdates(ctx)
	_, err := client.Delete(ctx, "mirror/0007")
	check(err, "delete")
	if update := <-updates; update.Events[0].Type != clientv3.EventTypeDelete {
		fail("the update is %v", update)
	}
}

func main() {
	scenarios := map[string]func(context.Context, *clientv3.Client){
		"txn": txn, "watch": watch, "lease": lease, "lock": lock, "election": election, "auth": auth,
		"leasing": leasingCache, "ordering": ordered, "mirror": mirrored,
	}
	if len(os.Args) != 2 || scenarios[os.Args[1]] == nil {
		fail("usage: clients SCENARIO")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	client := connect("", "")
	defer client.Close()
	scenarios[os.Args[1]](ctx, client)
}
