//go:build etcdcache

package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"go.etcd.io/etcd/cache/v3"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func init() { followers["cache"] = followCache }

// etcd's own cache, a watch of it for each listener. A watch is told of changes alone, and ended when
// it falls behind the cache's history; so each listener reads the objects first, and again then.
func followCache(ctx context.Context, client *clientv3.Client, prefix string, listeners int,
	told func(listener int, value []byte)) error {
	store, err := cache.New(client, prefix)
	if err != nil {
		return err
	}
	if err := store.WaitReady(ctx); err != nil {
		return err
	}
	for i := range listeners {
		go func() {
			for last := int64(0); ; {
				now, err := store.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithSerializable())
				if err != nil {
					fmt.Fprintf(os.Stderr, "etcd's cache: %v\n", err)
					time.Sleep(100 * time.Millisecond)
					continue
				}
				for _, kv := range now.Kvs {
					if kv.ModRevision > last {
						told(i, kv.Value)
					}
				}
				last = now.Header.Revision
				now = nil
				for response := range store.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(last+1)) {
					for _, event := range response.Events {
						told(i, event.Kv.Value)
						last = event.Kv.ModRevision
					}
				}
			}
		}()
	}
	return nil
}
