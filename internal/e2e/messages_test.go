package e2e

import (
	"flag"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// lanes are the pairs of chains between which messages are sent: each of three chains sends and receives some.
var lanes = [][2]string{{"C", "examplel1"}, {"examplel1", "C"}, {"C", "examplepoa"}, {"examplepoa", "examplel1"}}

// messagesWorld serves a network with blocks every second, and returns the environment of an exporter of three nodes.
func messagesWorld(t *testing.T) (*simnet.Network, []string) {
	t.Helper()
	network := simnet.New(simnet.Options{Seed: 1})
	urls := testworld.Serve(t, network)
	chains := "AVAX_CHAINS=C"
	for _, chain := range []string{"C", "examplel1", "examplepoa"} {
		network.SetBlockPeriod(chain, time.Second)
		if chain != "C" {
			chains += "," + chain + "=" + network.Chain(chain).ID
		}
	}
	return network, []string{
		"AVAX_NODES=alpha=" + urls["alpha"] + ",bravo=" + urls["bravo"] + ",foxtrot=" + urls["foxtrot"],
		chains, "AVAX_METRICS_URL=",
	}
}

var messages = flag.Int("messages", 100, "the number of messages that TestKilledExporterCountsEachMessageOnce sends")

// killed is how often an exporter is killed.
const killed = 6

// The exporter is killed at any moment of a run, also while it writes its state, and is away for a while: each message is counted once.
func TestKilledExporterCountsEachMessageOnce(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network, environment := messagesWorld(t)
	environment = append(environment, "AVAX_COLLECTORS=up,icm_chains", "AVAX_SCHEDULES=icm_chains=@every 3s", "AVAX_STATE_DIR="+t.TempDir())
	delivered := func(s testworld.Samples) float64 { return s.Sum("avax_icm_messages", `status="delivered"`) }
	exporter := testworld.StartExporter(t, environment...)
	exporter.Until("the chains were read once", func(s testworld.Samples) error {
		if len(s.Of("avax_icm_chain_read_timestamp_seconds")) < 3 {
			return fmt.Errorf("%v", s.Of("avax_icm_chain_read_timestamp_seconds"))
		}
		return nil
	})
	time.Sleep(2 * time.Second) // a message is sent in a later block
	began := time.Now()
	for _, lane := range lanes {
		network.SendICM(lane[0], lane[1], max(100*time.Millisecond, 100*time.Second/time.Duration(*messages)))
	}
	least := 0.0
	for kill := range killed {
		least += float64(*messages / (killed + 4))
		exporter.Until("more messages are delivered", func(s testworld.Samples) error {
			if n := delivered(s); n < least {
				return fmt.Errorf("%g of %g", n, least)
			}
			return nil
		})
		time.Sleep(time.Duration(kill) * 500 * time.Millisecond)
		exporter.End(syscall.SIGKILL)
		time.Sleep(time.Duration(kill%3) * 2 * time.Second)
		exporter = testworld.StartExporter(t, environment...)
	}
	sent, arrived := 0, 0
	testworld.Await(t, "all messages are sent", func() error {
		if sent, _ = network.CountICM(began); sent < *messages {
			return fmt.Errorf("%d of %d", sent, *messages)
		}
		return nil
	})
	network.StopICM()
	testworld.Await(t, "all messages are delivered", func() error {
		if sent, arrived = network.CountICM(began); arrived < sent {
			return fmt.Errorf("%d of %d", arrived, sent)
		}
		return nil
	})
	s := exporter.Until("all messages are counted", func(s testworld.Samples) error {
		if n := delivered(s); n < float64(arrived) {
			return fmt.Errorf("%g of %d", n, arrived)
		}
		return nil
	})
	usual := s.Sum("avax_icm_messages", `status="delivered_source_not_indexed"`) // of the network's own messages, one may have been on its way
	t.Logf("%d sent, %d delivered, counted %g, %g sent before the first run", sent, arrived, delivered(s), usual)
	if n := delivered(s); n > float64(arrived)+1 || s.Sum("avax_icm_messages", `status="pending"`) > 1 || s.Sum("avax_icm_messages", `status="execution_failed"`) > 0 {
		t.Errorf("%d sent, counted %v", sent, s.Of("avax_icm_messages"))
	}
}
