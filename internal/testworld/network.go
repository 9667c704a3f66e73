package testworld

import (
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/simnet"
)

// Serve lets a simulated network listen until the test ends, and returns the URLs of its nodes and services by name.
func Serve(t testing.TB, network *simnet.Network) map[string]string {
	t.Helper()
	urls, err := network.Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return urls
}
