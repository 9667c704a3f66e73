package data_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// simulated returns an upstream of a simulated network, which shares no type with the client.
func simulated(t *testing.T, network *simnet.Network, name, key string) *scrape.Upstream {
	t.Helper()
	o := scrape.Options{Name: name, URL: "http://" + name + ".sim", Transport: network.Transport(), Rate: 1e6, Header: http.Header{}}
	if key != "" {
		o.Header.Set(data.KeyHeader, key)
	}
	return must.Get(scrape.New(o))(t)
}

func TestSimulatedServiceRejectsKeysAndLimitsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(simnet.Options{Seed: 1})
		for _, status := range []int{400, 401, 403} {
			network.DataService().SetKey("good", status)
			for key, want := range map[string]bool{"old!": true, "good": false} {
				_, err := data.New(simulated(t, network, "data", key)).Subnet(t.Context(), data.Mainnet, network.Chain("examplel1").SubnetID)
				if data.IsKeyRejected(err) != want || (err != nil) != want {
					t.Errorf("%d, key %s: %v", status, key, err)
				}
			}
		}

		network.DataService().SetComputeLimit(100)
		c := data.New(simulated(t, network, "data", ""))
		ask := func() error {
			_, err := c.Subnet(t.Context(), data.Mainnet, network.Chain("examplel1").SubnetID)
			return err
		}
		for range 5 {
			must.Do(t, ask())
		}
		network.ResetCalls()
		for range 3 {
			if err := ask(); scrape.OutcomeOf(err) != scrape.RateLimited {
				t.Errorf("got %v", err)
			}
		}
		if calls := network.Calls(); len(calls) != 1 {
			t.Errorf("second round of calls: %v", fmt.Sprint(calls))
		}
		time.Sleep(time.Minute)
		if err := ask(); err != nil {
			t.Errorf("after a minute: %v", err)
		}
	})
}

func TestAverageTPSSwitchesToSimulatedVersion2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(36 * time.Hour) // noon
		network := simnet.New(simnet.Options{Seed: 1})
		of := func() metrics.AverageTPS {
			found, err := metrics.New(simulated(t, network, "metrics", "")).AverageTPS(t.Context(), "43112")
			if err != nil || found.Point == nil {
				t.Fatalf("%+v, %v", found, err)
			}
			return found
		}
		before := of()
		network.RetireMetricsV1(true)
		if after := of(); *after.Point != *before.Point || before.LastRun == nil || after.LastRun == nil {
			t.Errorf("version 1: %+v, version 2: %+v", before, after)
		}
	})
}
