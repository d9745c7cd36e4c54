// Traefik's provider for Consul's catalog, alone, by a file of Traefik's configuration: prints the servers of each service
// that it would route to, as a line of JSON, whenever it has read the catalog anew. The file is read as Traefik reads it:
// what it does not know is an error.
package main

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"sort"

	"github.com/traefik/paerser/file"
	"github.com/traefik/traefik/v3/pkg/config/dynamic"
	"github.com/traefik/traefik/v3/pkg/provider/consulcatalog"
	"github.com/traefik/traefik/v3/pkg/safe"
)

// The parts of Traefik's static configuration that the example uses: the whole has the clients of all its providers.
type configuration struct {
	EntryPoints map[string]*struct{ Address string }
	Providers   *struct {
		ConsulCatalog *consulcatalog.ProviderBuilder
	}
}

func main() {
	var static configuration
	if err := file.Decode(os.Args[1], &static); err != nil {
		panic(err)
	}
	for _, point := range static.EntryPoints {
		if _, _, err := net.SplitHostPort(point.Address); err != nil {
			panic(err)
		}
	}
	provider := static.Providers.ConsulCatalog.BuildProviders()[0]
	if err := provider.Init(); err != nil {
		panic(err)
	}
	messages := make(chan dynamic.Message)
	if err := provider.Provide(messages, safe.NewPool(context.Background())); err != nil {
		panic(err)
	}
	for message := range messages {
		urls := map[string][]string{}
		for name, service := range message.Configuration.HTTP.Services {
			for _, server := range service.LoadBalancer.Servers {
				urls[name] = append(urls[name], server.URL)
			}
			sort.Strings(urls[name])
		}
		_ = json.NewEncoder(os.Stdout).Encode(urls)
	}
}
