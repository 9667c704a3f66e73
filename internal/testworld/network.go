package testworld

import (
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// Serve lets a simulated network listen until the test ends, and returns the URLs of its nodes and services by name.
func Serve(t testing.TB, network *simnet.Network) map[string]string {
	t.Helper()
	return must.Get(network.Serve(t.Context()))(t)
}
