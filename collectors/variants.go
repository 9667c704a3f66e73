package collectors

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var fleetVariants = metric.New("avax_fleet_variants",
	"Number of different values of a fact that should be equal on all nodes. 1 if all nodes have the same value. Only the nodes of this exporter count. Facts "+
		"about the nodes (subject=network): version, RPC protocol of VMs, known upgrades. Fact about a VM: vm_version. Facts about a chain: chain_config, "+
		"precompiles (with state upgrades).",
	"fact", "subject").AtMost(10 * collector.MaxNamed) // each of up to MaxChains chains has two series

var nodeContradicted = metric.New("avax_node_contradicted",
	"1 if most nodes and observers that were asked contradict the node about the network or a chain more than once in the last 15 minutes, 0 if not. Without "+
		"a majority nobody has 1. facts are what they contradict, such as \"stake, validators\"; empty if the value is 0.", "node", "facts")

var variants = &collector.Spec{
	Name:     "variants",
	Help:     "Differences between the nodes in versions, upgrades, chain configurations, and facts about the network.",
	Calls:    []string{"info.getNodeVersion", "info.upgrades", "eth_getChainConfig", "eth_getActiveRulesAt", "platform.getCurrentValidators"},
	Every:    5 * time.Minute,
	Families: []*metric.Family{fleetVariants, nodeContradicted},
	Bind:     collector.Per(collector.Network, collectVariants),
}

// fact identifies a property that should be equal on all nodes.
type fact struct{ name, subject string }

// value is a node's value of a fact. It has one or more parts, each a text with a name: for precompiles, one part for
// each precompile.
type value map[string]string

// nodeValues holds the values of all facts on one node.
type nodeValues struct {
	node    string
	release string // of the node and its VMs
	values  map[fact]value
}

func collectVariants(ctx context.Context, ups *collector.Upstreams, _ collector.Subject, out *metric.Batch) error {
	if len(ups.Nodes()) == 0 {
		return nil
	}
	own, _ := ups.OfNetwork()
	all, err := nodes.Each(ctx, own, nodes.BasisOwn, func(ctx context.Context, n *nodes.Node) (nodeValues, error) { return valuesOf(ctx, n, ups.Chains()) })
	if err != nil {
		return err
	}
	_, _, _ = primaryStake(ctx, ups) // compares the stake that the nodes report, whichever collectors run
	for _, c := range ups.Chains() {
		ignoreUnknown(all, fact{chainConfigFact, c.Name})
	}
	contradicted := ups.Contradicted()
	found := map[fact]nodesByValue{}
	for _, s := range all {
		out.SetBool(nodeContradicted, len(contradicted[s.node]) > 0, s.node, strings.Join(contradicted[s.node], ", "))
		for f, v := range s.values {
			if found[f] == nil {
				found[f] = nodesByValue{}
			}
			found[f].add(s.node, v)
		}
	}
	differences := metric.Table{
		About:   "Facts that should be equal on all nodes but differ.",
		Columns: []string{"Fact", "Subject", "Value", "Nodes"},
	}
	for _, f := range slices.SortedFunc(maps.Keys(found), fact.compare) {
		out.Set(fleetVariants, float64(len(found[f])), f.name, f.subject)
		if len(found[f]) > 1 {
			differences.Rows = append(differences.Rows, found[f].rows(f)...)
		}
	}
	out.Table(differences)
	disagreements := metric.Table{About: "Facts for which most nodes contradict a node or an observer.", Columns: []string{"Node", "Facts"}}
	for _, name := range slices.Sorted(maps.Keys(contradicted)) {
		disagreements.Rows = append(disagreements.Rows, []string{name, strings.Join(contradicted[name], ", ")})
	}
	out.Table(disagreements)
	return nil
}

func (f fact) compare(o fact) int {
	return cmp.Or(cmp.Compare(f.name, o.name), cmp.Compare(f.subject, o.subject))
}

// valuesOf requests the values of all facts from a node. It omits the facts of a chain if the node does not report them,
// for example while the chain is bootstrapping. A missing value does not count as a difference.
func valuesOf(ctx context.Context, n *nodes.Node, chains []nodes.Chain) (nodeValues, error) {
	s := nodeValues{node: n.Name(), values: map[fact]value{}}
	version, err := n.NodeVersion(ctx)
	if err != nil {
		return s, err
	}
	s.release = fmt.Sprint(version.Version, version.VMVersions)
	s.values[fact{"version", "network"}] = value{"": version.Version}
	if protocol := version.RPCProtocolVersion; protocol != nil {
		s.values[fact{"rpc_protocol", "network"}] = value{"": strconv.FormatUint(uint64(*protocol), 10)}
	}
	for vm, v := range version.VMVersions {
		s.values[fact{"vm_version", vm}] = value{"": v}
	}
	known, err := n.Upgrades(ctx)
	if err != nil {
		return s, err
	}
	upgrades := value{}
	for name, at := range known.Scheduled() {
		upgrades[name] = at.UTC().Format(time.RFC3339)
	}
	s.values[fact{"upgrades", "network"}] = upgrades
	for _, c := range chains {
		config, err := evmConfig(ctx, n, c)
		if err != nil {
			continue
		}
		s.values[fact{chainConfigFact, c.Name}] = configValues(config)
		rules, err := evmRules(ctx, n, c)
		if err != nil {
			continue
		}
		s.values[fact{"precompiles", c.Name}] = precompileValues(config, rules)
	}
	return s, nil
}

const chainConfigFact = "chain_config"

// configValues returns one part for each member of a configuration. A long member is a hash.
func configValues(config node.ChainConfig) value {
	var members map[string]jsontext.Value
	if err := json.Unmarshal([]byte(config.Canonical), &members); err != nil {
		panic(err) // a configuration is an object
	}
	v := value{}
	for name, text := range members {
		if v[name] = string(text); len(text) > 40 {
			v[name] = "content " + shortHash(string(text))
		}
	}
	return v
}

// ignoreUnknown removes the parts of a fact that no node of some release has: the release does not know them, as the next upgrade of the network.
func ignoreUnknown(all []nodeValues, f fact) {
	byRelease := map[string]value{}
	for _, s := range all {
		if v, reported := s.values[f]; reported {
			if byRelease[s.release] == nil {
				byRelease[s.release] = value{}
			}
			maps.Copy(byRelease[s.release], v)
		}
	}
	for _, s := range all {
		maps.DeleteFunc(s.values[f], func(part, _ string) bool {
			for _, known := range byRelease {
				if _, has := known[part]; !has {
					return true
				}
			}
			return false
		})
	}
}

// precompileValues returns one part for each precompile: whether it is active, and the last times at which the node's
// configuration enables and disables it. It returns one part for each state upgrade too.
func precompileValues(config node.ChainConfig, rules node.Rules) value {
	switches := upgradeTimes(config)
	v := value{}
	for name, active := range precompileStates(config, rules) {
		v[name] = "inactive"
		if active {
			v[name] = "active"
		}
		if at, known := switches[name]; known {
			v[name] += ", on at " + at.UTC().Format(time.RFC3339)
		}
		if at, known := switches[name+":disable"]; known {
			v[name] += ", off at " + at.UTC().Format(time.RFC3339)
		}
	}
	for i, s := range config.StateUpgrades { // the same time with other balances is a fork too
		name := stateUpgradeName(i)
		v[name] = "content " + shortHash(s.Text)
		if at, known := switches[name]; known {
			v[name] += ", at " + at.UTC().Format(time.RFC3339)
		}
	}
	return v
}

// nodesByValue holds the different values of one fact, each with the nodes that have this value. The key is the value
// as text.
type nodesByValue map[string]*variant

type variant struct {
	value
	nodes []string
}

func (t nodesByValue) add(node string, v value) {
	text := fmt.Sprint(map[string]string(v)) // Sprint sorts the keys
	if t[text] == nil {
		t[text] = &variant{value: v}
	}
	t[text].nodes = append(t[text].nodes, node)
}

// rows returns one table row for each value of the fact. The value with the fewest nodes comes first.
func (t nodesByValue) rows(f fact) [][]string {
	sorted := slices.SortedFunc(maps.Keys(t), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(t[a].nodes), len(t[b].nodes)), cmp.Compare(a, b))
	})
	parts := t.parts()
	var rows [][]string
	for _, text := range sorted {
		v := t[text]
		var words []string
		for _, part := range parts {
			word, there := v.value[part]
			if !there {
				word = "none"
			}
			words = append(words, strings.TrimSpace(part+" "+word))
		}
		slices.Sort(v.nodes)
		rows = append(rows, []string{f.name, f.subject, firstTen(words), firstTen(v.nodes)})
	}
	return rows
}

// parts returns the names of the parts in which the values differ.
func (t nodesByValue) parts() []string {
	differ := map[string]bool{}
	compare := func(a, b value) {
		for part, word := range a {
			if other, there := b[part]; !there || other != word {
				differ[part] = true
			}
		}
	}
	var reference value
	for _, v := range t {
		if reference == nil {
			reference = v.value
		}
		compare(reference, v.value)
		compare(v.value, reference)
	}
	return slices.Sorted(maps.Keys(differ))
}

// firstTen joins the first ten texts of a list, and adds the number of the others.
func firstTen(list []string) string {
	const limit = 10
	text := strings.Join(list[:min(len(list), limit)], ", ")
	if more := len(list) - limit; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
