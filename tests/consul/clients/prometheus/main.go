// Prometheus' discovery by Consul, alone: reads consul_sd_configs of the file at argv[1], and prints the labels of all
// targets, before any relabelling, as a line of JSON whenever they change.
package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"sort"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
	_ "github.com/prometheus/prometheus/discovery/consul"
)

func main() {
	model.NameValidationScheme = model.UTF8Validation // as Prometheus' own program does
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	file, err := config.LoadFile(os.Args[1], false, logger)
	if err != nil {
		panic(err)
	}
	registry := prometheus.NewRegistry()
	metrics, err := discovery.CreateAndRegisterSDMetrics(registry)
	if err != nil {
		panic(err)
	}
	manager := discovery.NewManager(context.Background(), logger, registry, metrics)
	configs := map[string]discovery.Configs{}
	for _, scrape := range file.ScrapeConfigs {
		configs[scrape.JobName] = scrape.ServiceDiscoveryConfigs
	}
	if err := manager.ApplyConfig(configs); err != nil {
		panic(err)
	}
	go func() { _ = manager.Run() }()
	for sets := range manager.SyncCh() {
		targets := []map[string]string{}
		for _, groups := range sets {
			for _, group := range groups {
				for _, target := range group.Targets {
					labels := map[string]string{}
					for name, value := range group.Labels.Merge(target) {
						labels[string(name)] = string(value)
					}
					targets = append(targets, labels)
				}
			}
		}
		sort.Slice(targets, func(a, b int) bool { return targets[a]["__address__"] < targets[b]["__address__"] })
		_ = json.NewEncoder(os.Stdout).Encode(targets)
	}
}
