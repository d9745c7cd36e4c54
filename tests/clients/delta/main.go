// Command delta is a subscriber of the delta discovery protocol by go-control-plane's own package, which does as it
// is told on standard input and tells what comes:
//
//	delta ADDRESS
//
//	open NODE TYPE   begins a stream that presents the versions of what it holds
//	ack              accepts the last response
//	nack TEXT        refuses it
//	close            ends the stream
//
// A response is a line of its nonce, of name=value for each resource and of -name for each that is gone, in order of
// names; the end of a stream is "end CODE MESSAGE".
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpc "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

type subscriber struct {
	client   discovery.AggregatedDiscoveryServiceClient
	versions map[string]string
	stream   discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesClient
	end      context.CancelFunc
	last     chan *discovery.DeltaDiscoveryResponse
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (s *subscriber) open(node, typeURL string) {
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := s.client.DeltaAggregatedResources(ctx)
	check(err)
	s.stream, s.end = stream, cancel
	check(stream.Send(&discovery.DeltaDiscoveryRequest{
		Node:                    &core.Node{Id: node, Cluster: "tests", UserAgentName: "delta"},
		TypeUrl:                 typeURL,
		InitialResourceVersions: s.versions,
	}))
	go func() {
		for {
			response, err := stream.Recv()
			if err != nil {
				fmt.Printf("end %v %s\n", status.Code(err), status.Convert(err).Message())
				return
			}
			var names []string
			for _, resource := range response.Resources {
				names = append(names, resource.Name+"="+string(resource.Resource.Value))
			}
			for _, name := range response.RemovedResources {
				names = append(names, "-"+name)
			}
			slices.Sort(names)
			s.last <- response
			fmt.Println(strings.Join(append([]string{response.Nonce}, names...), " "))
		}
	}()
}

func (s *subscriber) answer(refusal string) {
	response := <-s.last
	request := &discovery.DeltaDiscoveryRequest{TypeUrl: response.TypeUrl, ResponseNonce: response.Nonce}
	if refusal == "" {
		for _, resource := range response.Resources {
			s.versions[resource.Name] = resource.Version
		}
		for _, name := range response.RemovedResources {
			delete(s.versions, name)
		}
	} else {
		request.ErrorDetail = &rpc.Status{Code: 3, Message: refusal}
	}
	check(s.stream.Send(request))
}

func main() {
	connection, err := grpc.NewClient(os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	check(err)
	s := &subscriber{
		client:   discovery.NewAggregatedDiscoveryServiceClient(connection),
		versions: map[string]string{},
		last:     make(chan *discovery.DeltaDiscoveryResponse, 16),
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		command, rest, _ := strings.Cut(lines.Text(), " ")
		switch command {
		case "open":
			node, typeURL, _ := strings.Cut(rest, " ")
			s.open(node, typeURL)
		case "ack":
			s.answer("")
		case "nack":
			s.answer(rest)
		case "close":
			s.end()
		}
	}
}
