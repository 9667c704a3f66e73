package collectors_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/simnet"
)

// variants runs the collector and returns its samples and rows.
func (w world) variants(t *testing.T) (page string, rows []string) {
	t.Helper()
	for _, table := range w.tables(t, "variants", "network") {
		for _, row := range table.Rows {
			rows = append(rows, strings.Join(row, " | "))
		}
	}
	return w.page(t, "variants"), rows
}

func variantsOf(fact, subject string) string {
	return `avax_fleet_variants{fact="` + fact + `",subject="` + subject + `"}`
}

func TestEqualNodesHaveOneVariantPerFact(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		for _, nodes := range [][]string{{"alpha"}, {"alpha", "bravo", "delta", "foxtrot"}} {
			w.setNodes(t, nodes...)
			page, rows := w.variants(t)
			for line := range strings.Lines(page) {
				if strings.HasPrefix(line, "avax_fleet_variants{") && !strings.HasSuffix(line, " 1\n") {
					t.Errorf("nodes %v: %s", nodes, line)
				}
			}
			if strings.Count(page, "\navax_fleet_variants{") != 12 || len(rows) > 0 {
				t.Errorf("%s\n%q", page, rows)
			}
		}
	})
}

// A node will fork if only its configuration has an upgrade.
func TestDifferentChainConfigIsDetected(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "bravo", "charlie", "delta") // delta tracks no subnet
		at := time.Now().Add(time.Hour)
		w.network.Node("bravo").SetPrecompile("examplel1", "txAllowListConfig", true, at)
		w.network.Node("bravo").SetPrecompile("examplel1", "feeManagerConfig", false, at)
		page, rows := w.variants(t)
		wantSeries(t, page, variantsOf("chain_config", "examplel1"), "2")
		wantSeries(t, page, variantsOf("precompiles", "examplel1"), "2")
		wantSeries(t, page, variantsOf("chain_config", "examplepoa"), "1")
		if len(rows) != 4 || !strings.HasPrefix(rows[0], "chain_config | examplel1 | ") || !strings.HasSuffix(rows[0], " | bravo") ||
			!strings.HasSuffix(rows[1], " | alpha, charlie") {
			t.Errorf("%q", rows)
		}
		when := at.UTC().Format(time.RFC3339)
		row := regexp.MustCompile(`^precompiles \| examplel1 \| feeManagerConfig active, on at \S+, off at ` + when + `, txAllowListConfig inactive, on at ` + when +
			` \| bravo$`)
		if !row.MatchString(rows[2]) {
			t.Errorf("bravo's precompiles: %q", rows[2])
		}
		row = regexp.MustCompile(`^precompiles \| examplel1 \| feeManagerConfig active, on at \S+, txAllowListConfig none \| alpha, charlie$`)
		if !row.MatchString(rows[3]) {
			t.Errorf("the other nodes: %q", rows[3])
		}
		time.Sleep(2 * time.Hour)
		if _, rows = w.variants(t); !strings.Contains(rows[2], "feeManagerConfig inactive") || !strings.Contains(rows[2], "txAllowListConfig active") {
			t.Errorf("one hour after the upgrades: %q", rows)
		}
	})
}

// A release that knows another upgrade of the network has another member in each configuration. During a rollout, that is no fault of a configuration.
// Between nodes of one release, it is.
func TestARolloutIsNoDifferenceOfConfigurations(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "bravo", "charlie")
		fees := `"targetGas":15000000`
		*w.otherwise = func(node, method string, _ []any) string {
			switch config := `{"jsonrpc":"2.0","id":1,"result":{"chainId":7,"etnaTimestamp":5,` + fees; {
			case method != "eth_getChainConfig":
				return ""
			case node == "charlie":
				return config + `}}`
			default:
				return config + `,"heliconTimestamp":9}}`
			}
		}
		w.network.SetVersion("charlie", "1.14.2")
		page, _ := w.variants(t)
		wantSeries(t, page, variantsOf("chain_config", "examplel1"), "1")
		wantSeries(t, page, variantsOf("chain_config", "C"), "1")
		w.network.SetVersion("charlie", simnet.Releases()[0])
		time.Sleep(10 * time.Minute)
		page, rows := w.variants(t)
		wantSeries(t, page, variantsOf("chain_config", "examplel1"), "2")
		if !slices.Contains(rows, "chain_config | examplel1 | heliconTimestamp none | charlie") ||
			!slices.Contains(rows, "chain_config | examplel1 | heliconTimestamp 9 | alpha, bravo") {
			t.Errorf("%q", rows)
		}
	})
}

// A state upgrade that one node lacks is a fork, as a precompile is.
func TestStateUpgradeOfOneNodeIsDetected(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "bravo", "charlie")
		at := time.Now().Add(2 * time.Hour)
		w.network.Node("bravo").SetStateUpgrade("examplel1", at)
		page, rows := w.variants(t)
		wantSeries(t, page, variantsOf("precompiles", "examplel1"), "2")
		if when := ", at " + at.UTC().Format(time.RFC3339); len(rows) != 4 || !strings.Contains(rows[2], "stateUpgrade1 content ") || !strings.Contains(rows[2], when) {
			t.Errorf("%q", rows)
		}
		wantSeries(t, w.page(t, "chain_config"), `avax_chain_upgrade_timestamp_seconds{node="bravo",chain="examplel1",upgrade="stateUpgrade1"}`,
			strconv.FormatFloat(float64(at.Unix()), 'g', -1, 64))
		w.network.Node("alpha").SetStateUpgrade("examplel1", at)
		w.network.Node("charlie").SetStateUpgrade("examplel1", at)
		time.Sleep(10 * time.Minute)
		page, _ = w.variants(t)
		wantSeries(t, page, variantsOf("precompiles", "examplel1"), "1")
	})
}

func TestDifferentVersionsAndUpgradesAreDetected(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "bravo", "charlie")
		vm := w.network.Chain("examplel1").VMID
		w.network.Node("alpha").SetVMVersion(vm, "v0.8.0")
		w.network.SetVersion("charlie", "1.14.2")
		*w.otherwise = func(node, method string, _ []any) string {
			if node == "bravo" && method == "info.upgrades" {
				return `{"jsonrpc":"2.0","result":{"bananaTime":"2027-01-01T00:00:00Z","graniteTime":"2025-11-19T16:00:00Z"},"id":1}`
			}
			return ""
		}
		page, rows := w.variants(t)
		wantSeries(t, page, variantsOf("version", "network"), "2")
		wantSeries(t, page, variantsOf("vm_version", vm), "3") // charlie has the VM version of release 1.14.2
		wantSeries(t, page, variantsOf("rpc_protocol", "network"), "1")
		wantSeries(t, page, variantsOf("upgrades", "network"), "2")
		for _, want := range []string{
			"version | network | avalanchego/1.14.2 | charlie",
			"version | network | avalanchego/1.15.0 | alpha, bravo",
			"vm_version | " + vm + " | v0.8.0 | alpha",
		} {
			if !slices.Contains(rows, want) {
				t.Errorf("no row %q in %q", want, rows)
			}
		}
		i := slices.IndexFunc(rows, func(row string) bool { return strings.HasPrefix(row, "upgrades | network | ") })
		if i < 0 || !strings.Contains(rows[i], "banana 2027-01-01T00:00:00Z") || !strings.Contains(rows[i], " and 6 more | bravo") {
			t.Errorf("upgrades: %q", rows)
		}
	})
}

func TestNodesThatDoNotAnswerAreNotCompared(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "bravo")
		w.network.SetVersion("bravo", "1.14.2")
		wantSeries(t, w.page(t, "variants"), variantsOf("version", "network"), "2")
		w.network.Node("bravo").Stop()
		wantSeries(t, w.page(t, "variants"), variantsOf("version", "network"), "1")
		w.network.Node("alpha").Stop()
		if page, err := w.run(t, "variants", "network"); err == nil || page != "" {
			t.Errorf("no node answers: %q, %v", page, err)
		}
	})
}

func TestStakeOnNewerVersionsIsExportedPerNode(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		newer := func(node string) string { return `avax_node_newer_version_stake_ratio{node="` + node + `"}` }
		w.setNodes(t, "alpha", "bravo")
		w.network.SetVersion("bravo", "1.15.10")
		w.network.SetVersion("charlie", "1.15.9")
		w.network.SetVersion("delta", "1.14.11")
		w.network.SetVersion("echo", "2.0.0")
		w.network.Disconnect("echo")
		page := w.page(t, "connected_stake")
		if got := valueOf(t, page, newer("alpha")); !near(got, (2_050_000+1_950_500)/10_040_600.0) {
			t.Errorf("stake on newer versions than alpha's: %v", got)
		}
		wantSeries(t, page, newer("bravo"), "0")

		// Versions that cannot be compared are neither newer nor older.
		w.network.SetVersion("charlie", "1.16.0-rc.1")
		w.network.SetVersion("bravo", "")
		page = w.page(t, "connected_stake")
		wantSeries(t, page, newer("alpha"), "0")
		wantNoSeries(t, page, newer("bravo"))
	})
}
