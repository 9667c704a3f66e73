package simnet_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/avax-exporter/avax-exporter/simnet"
)

// A tool reads the ID of the network from a node, and then the node stops.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	network := simnet.New(simnet.Options{Seed: 1})
	urls, err := network.Serve(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	call := func() (string, error) {
		answer, err := client.Post(urls["alpha"]+"/ext/info", "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"info.getNetworkName"}`))
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return strings.TrimSpace(string(text)), err
	}
	fmt.Println(call())
	network.Node("alpha").Stop()
	_, err = call()
	fmt.Println("stopped:", err != nil)
	// Output:
	// {"jsonrpc":"2.0","result":{"networkName":"network-1337"},"id":1} <nil>
	// stopped: true
}
