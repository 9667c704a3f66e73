package app_test

import (
	"fmt"
	"io/fs"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/internal/testworld/recorded"
)

// What owns everything on the recorded network.
const (
	recordedAccount = "0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC"
	recordedAddress = "P-custom18jma8ppw3nhx5r4ap8clazz0dps7rv5u9xde7p"
)

// recordedNames are what @name means in a file of testdata/recorded.
var recordedNames = map[string]string{
	"node": "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg", "account": recordedAccount, "address": recordedAddress,
	"L1Chain": recorded.L1Chain, "L1Subnet": recorded.L1Subnet, "PoAChain": recorded.PoAChain, "PoASubnet": recorded.PoASubnet,
	"PartialSyncL1": recorded.PartialSyncL1, "FailedChain": recorded.FailedChain,
	"FrozenPoA": recorded.FrozenPoA, "FrozenL1": recorded.FrozenL1, "StalledL1": recorded.StalledL1,
}

var recordedName = regexp.MustCompile(`@\w+`)

// recordedSituation is a file of testdata/recorded. Its lines:
//
//	layers: start_up healthy           the recordings; the first that has an answer gives it
//	age: 7s                            how long the node has run
//	env: CHAINS=C                      a variable that differs
//	unanswered: /ext/bc/@L1Chain       calls without a recording may begin so
//	avax_node_up{node="local"} 1       a sample
//	!avax_node_uptime_                 no series begins so
//
// A comment follows #.
type recordedSituation struct {
	name       string
	layers     []string
	age        time.Duration
	env        config.Environment
	unanswered []string
	want       testworld.Samples
	none       []string
}

func readSituation(t *testing.T, file string) recordedSituation {
	t.Helper()
	s := recordedSituation{
		name: strings.TrimSuffix(filepath.Base(file), ".txt"), want: testworld.Samples{},
		env: config.Environment{
			"COLLECTORS": "+admin", "WATCH_ADDRESSES": recordedAddress + "," + recordedAccount,
			"CHAINS": "C,examplel1=" + recorded.L1Chain + ",examplepoa=" + recorded.PoAChain,
		},
	}
	for line := range strings.Lines(string(must.Get(os.ReadFile(file))(t))) {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(recordedName.ReplaceAllStringFunc(line, func(name string) string {
			if recordedNames[name[1:]] == "" {
				t.Fatalf("%s: unknown name %s", file, name)
			}
			return recordedNames[name[1:]]
		}))
		series, absent := strings.CutPrefix(line, "!")
		key, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "":
		case absent:
			s.none = append(s.none, series)
		case key == "layers":
			s.layers = strings.Fields(value)
		case key == "age":
			s.age = must.Get(time.ParseDuration(value))(t)
		case key == "env":
			name, value, _ := strings.Cut(value, "=")
			s.env[name] = value
		case key == "unanswered":
			s.unanswered = append(s.unanswered, value)
		default:
			end := strings.LastIndex(line, " ")
			if end < 0 || !strings.HasPrefix(line, "avax_") {
				t.Fatalf("%s: %q is no sample", file, line)
			}
			if _, twice := s.want[line[:end]]; twice {
				t.Fatalf("%s: %s is there twice", file, line[:end])
			}
			s.want[line[:end]] = must.Get(strconv.ParseFloat(line[end+1:], 64))(t)
		}
	}
	return s
}

// For each recorded situation of a real node, /metrics has the values of the recording.
func TestRecordedNodesHaveTheExpectedSeries(t *testing.T) {
	var situations []recordedSituation
	unused := map[string]bool{}
	for _, file := range must.Get(fs.Glob(recorded.Files, "*.jsonl"))(t) {
		name := strings.TrimSuffix(file, ".jsonl")
		unused[name] = name != "survey" && !strings.HasPrefix(name, "client_")
	}
	for _, file := range must.Get(filepath.Glob("testdata/recorded/*.txt"))(t) {
		s := readSituation(t, file)
		situations = append(situations, s)
		for _, layer := range s.layers {
			unused[layer] = false
		}
	}
	for name, yes := range unused {
		if yes {
			t.Errorf("internal/testworld/recorded/%s.jsonl is in no situation: write testdata/recorded/%s.txt", name, name)
		}
	}
	counts := make([]map[string]int, len(situations)) // series of each family
	for i, s := range situations {
		t.Run(s.name, func(t *testing.T) {
			node := must.Get(recorded.NewNode(s.layers...))(t)
			if s.age > 0 {
				node.SetAge(s.age)
			}
			server := httptest.NewServer(node)
			t.Cleanup(server.Close)
			s.env["NODES"] = "local=" + server.URL
			_, page := start(t, s.env).get(t, "/metrics")
			for _, call := range node.Unanswered() {
				if strings.Contains(call, "/proposervm ") {
					continue // as a node of a release before Granite
				}
				if !slices.ContainsFunc(s.unanswered, func(begin string) bool { return strings.HasPrefix(call, begin) }) {
					t.Errorf("internal/testworld/recorded/%s.jsonl has no answer to %s: add what a real node answers in this situation", strings.Join(s.layers, ".jsonl or "), call)
				}
			}
			served := samples(t, page)
			for series, want := range s.want {
				if got, present := served[series]; !present || got != want {
					t.Errorf("%s: %v (present: %v), want %v", series, got, present, want)
				}
			}
			for series := range served {
				for _, family := range s.none {
					if strings.HasPrefix(series, family) {
						t.Errorf("%s exported", series)
					}
				}
				if strings.Contains(series, `outcome="malformed"`) {
					t.Errorf("%s: recorded answer counts as malformed", series)
				}
			}
			counts[i] = map[string]int{}
			for series := range served {
				if family, _, _ := strings.Cut(series, "{"); strings.HasPrefix(family, "avax_") && !strings.HasPrefix(family, "avax_exporter_") {
					counts[i][family]++
				}
			}
		})
	}

	var table strings.Builder
	families := map[string]bool{}
	table.WriteString("The number of series of each family.\n\n")
	for i, s := range situations {
		if counts[i] == nil {
			return // not all situations were selected
		}
		fmt.Fprintf(&table, "%2d %s\n", i+1, s.name)
		for family := range counts[i] {
			families[family] = true
		}
	}
	line := func(family string, cell func(i int) int) {
		fmt.Fprintf(&table, "\n%-50s", family)
		for i := range situations {
			fmt.Fprintf(&table, "%3s", strconv.Itoa(cell(i)))
		}
	}
	line("", func(i int) int { return i + 1 })
	for _, family := range slices.Sorted(maps.Keys(families)) {
		line(family, func(i int) int { return counts[i][family] })
	}
	testworld.Golden(t, filepath.Join("testdata", "recorded.txt"), table.String()+"\n", "go test ./internal/app -update")
}

// AVAX_CHAINS=auto discovers the L1 of a node with partial sync, and the L1 that a node could not start, and calls for them at once.
func TestTrackedChainsOfRecordedNodesAreDiscovered(t *testing.T) {
	for situation, want := range map[string]string{
		"partial_sync":    `avax_node_chain_start_failed{node="local",chain="examplel1"} 0`,
		"vm_cannot_start": `avax_node_chain_start_failed{node="local",chain="examplel1"} 1`,
	} {
		t.Run(situation, func(t *testing.T) {
			node := must.Get(recorded.NewNode(situation))(t)
			server := httptest.NewServer(node)
			t.Cleanup(server.Close)
			env := config.Environment{}
			env["NODES"], env["CHAINS"] = "local="+server.URL, "auto"
			start(t, env).until(t, "/metrics", func(_ int, page string) bool {
				return strings.Contains(page, want) && strings.Contains(page, `avax_chain_info{chain="examplel1"`) &&
					strings.Contains(page, `avax_node_chain_present{node="local",chain="examplel1"}`)
			})
		})
	}
}
