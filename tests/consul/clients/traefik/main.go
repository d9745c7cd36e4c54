// Traefik's provider for Consul's catalog, alone: prints the servers of each service that it would route to, as a line of
// JSON, whenever it has read the catalog anew.
package main

import (
	"context"
	"encoding/json"
	"os"
	"sort"

	"github.com/traefik/traefik/v3/pkg/config/dynamic"
	"github.com/traefik/traefik/v3/pkg/provider/consulcatalog"
	"github.com/traefik/traefik/v3/pkg/safe"
)

func main() {
	builder := consulcatalog.ProviderBuilder{}
	builder.SetDefaults()
	builder.Endpoint.Address = os.Args[1]
	builder.ExposedByDefault = false
	builder.Watch = true
	provider := builder.BuildProviders()[0]
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
