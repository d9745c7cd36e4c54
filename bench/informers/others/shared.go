package main

import (
	"context"
	"fmt"
	"strconv"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// A key and its value as an object of client-go's.
type object struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	value []byte
}

func (o *object) DeepCopyObject() runtime.Object { return o } // nobody changes one

type objectList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []object
}

func (l *objectList) DeepCopyObject() runtime.Object { return l }

func (l *objectList) GetObjectKind() schema.ObjectKind { return &l.TypeMeta }

func makeObject(kv *mvccpb.KeyValue) object {
	return object{
		ObjectMeta: metav1.ObjectMeta{Name: string(kv.Key), ResourceVersion: strconv.FormatInt(kv.ModRevision, 10)},
		value:      kv.Value,
	}
}

// A list and a watch of a prefix, straight from the store.
type source struct {
	client *clientv3.Client
	prefix string
}

// There is no API server that could send the first list over the watch.
func (s *source) IsWatchListSemanticsUnSupported() bool { return true }

func (s *source) List(options metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), options)
}

func (s *source) ListWithContext(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	list := &objectList{}
	key, revision := s.prefix, int64(0)
	for {
		page, err := s.client.Get(ctx, key, clientv3.WithRange(clientv3.GetPrefixRangeEnd(s.prefix)),
			clientv3.WithLimit(1000), clientv3.WithRev(revision))
		if err != nil {
			return nil, err
		}
		if revision == 0 {
			revision = page.Header.Revision
		}
		for _, kv := range page.Kvs {
			list.Items = append(list.Items, makeObject(kv))
		}
		if !page.More {
			list.ResourceVersion = strconv.FormatInt(revision, 10)
			return list, nil
		}
		key = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
	}
}

func (s *source) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), options)
}

func (s *source) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	revision, err := strconv.ParseInt(options.ResourceVersion, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the watch begins at %q", options.ResourceVersion)
	}
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan watch.Event, 100)
	proxy := watch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		defer cancel()
		responses := s.client.Watch(ctx, s.prefix, clientv3.WithPrefix(), clientv3.WithRev(revision+1),
			clientv3.WithPrevKV())
		for response := range responses {
			for _, event := range response.Events {
				select {
				case events <- translate(event):
				case <-proxy.StopChan():
					return
				}
			}
		}
	}()
	return proxy, nil
}

func translate(event *clientv3.Event) watch.Event {
	if event.Type == clientv3.EventTypeDelete {
		last := makeObject(event.PrevKv)
		last.ResourceVersion = strconv.FormatInt(event.Kv.ModRevision, 10)
		return watch.Event{Type: watch.Deleted, Object: &last}
	}
	now := makeObject(event.Kv)
	if event.IsCreate() {
		return watch.Event{Type: watch.Added, Object: &now}
	}
	return watch.Event{Type: watch.Modified, Object: &now}
}

// client-go's shared informer: Reflector, DeltaFIFO, indexer and a processor for each listener.
func followShared(ctx context.Context, client *clientv3.Client, prefix string, listeners int,
	told func(listener int, value []byte)) error {
	informer := cache.NewSharedIndexInformer(&source{client, prefix}, &object{}, 0, cache.Indexers{})
	for i := range listeners {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(added any) { told(i, added.(*object).value) },
			UpdateFunc: func(_, after any) { told(i, after.(*object).value) },
		})
		if err != nil {
			return err
		}
	}
	go informer.RunWithContext(ctx)
	return nil
}
