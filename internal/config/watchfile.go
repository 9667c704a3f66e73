package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// watchForm is what AVAX_WATCH_FILE consists of.
const watchForm = "write sections (addresses, delegators, assets, contracts, tokens, signatures), each with entries name: value"

// watchlist returns what is monitored in addition to nodes: the variables, and the entries of AVAX_WATCH_FILE.
func (r *reader) watchlist() collector.Watchlist {
	v := Values{
		WatchAddresses: Addresses{slices.Clone(r.WatchAddresses.Primary), slices.Clone(r.WatchAddresses.EVM)}, WatchDelegators: slices.Clone(r.WatchDelegators),
		WatchAssets: slices.Clone(r.WatchAssets), WatchContracts: slices.Clone(r.WatchContracts), WatchTokens: slices.Clone(r.WatchTokens),
		WatchSignatures: slices.Clone(r.WatchSignatures),
	}
	if r.WatchFile != "" {
		r.watchFile(&v)
	}
	w := collector.Watchlist{
		Validators: r.Validators.Validators, Addresses: v.WatchAddresses.Primary, EVM: v.WatchAddresses.EVM, Delegators: v.WatchDelegators,
		Assets: v.WatchAssets, Contracts: v.WatchContracts, Tokens: v.WatchTokens, Signatures: v.WatchSignatures,
	}
	r.checkNetwork(w)
	var tokens any = &r.WatchTokens
	if len(r.WatchTokens) == 0 {
		tokens = &r.WatchFile
	}
	if w.Tokens != nil && w.EVM == nil {
		r.problem(tokens, errors.New("no holder of a token is monitored: add the holders, such as 0x1f…, to AVAX_WATCH_ADDRESSES"))
	}
	for _, t := range w.Tokens { // with auto, the chain may be found later
		if !r.Chains.Auto && !slices.ContainsFunc(r.Chains.List, func(c nodes.Chain) bool { return c.Name == t.Chain }) {
			r.problem(tokens, fmt.Errorf("\"%s/%s/%s\": AVAX_CHAINS has no chain %q: add it there", t.Chain, t.Contract, t.ID, t.Chain))
		}
	}
	return w
}

// checkNetwork reports addresses of another network than AVAX_NETWORK, or of two networks.
func (r *reader) checkNetwork(w collector.Watchlist) {
	all := collector.Values(slices.Concat(w.Addresses, w.Delegators))
	network, source := "", "AVAX_NETWORK"
	if r.Network.ID != 0 {
		network = cmp.Or(r.Network.Name, fmt.Sprint("network ", r.Network.ID))
	}
	for _, a := range all {
		of := data.AddressNetwork(a)
		if network == "" && of != "" {
			network, source = of, a
		}
		if of == "" || of == network {
			continue
		}
		var field any = &r.WatchFile
		switch {
		case slices.Contains(collector.Values(r.WatchAddresses.Primary), a):
			field = &r.WatchAddresses
		case slices.Contains(collector.Values(r.WatchDelegators), a):
			field = &r.WatchDelegators
		}
		r.problem(field, fmt.Errorf("%q is an address of %s, but %s is of %s: write an address of %s", a, of, source, network, network))
	}
}

// watchFile adds the entries of the file to the values of the variables. An entry has the form that it has in a variable.
func (r *reader) watchFile(v *Values) {
	text, err := r.open(r.WatchFile)
	if err != nil {
		r.problem(&r.WatchFile, err)
		return
	}
	var sections map[string]yaml.Node
	for _, err := range split(decodeYAML(text, &sections, watchForm)) {
		r.problem(&r.WatchFile, at(r.WatchFile, err))
	}
	kinds := map[string]struct {
		into     interface{ Decode(s string) error }
		fromData bool // only the Data service knows it
	}{
		"addresses": {into: &v.WatchAddresses}, "delegators": {into: &v.WatchDelegators}, "assets": {into: &v.WatchAssets},
		"contracts": {into: &v.WatchContracts, fromData: true}, "tokens": {into: &v.WatchTokens, fromData: true},
		"signatures": {into: &v.WatchSignatures, fromData: true},
	}
	for section, n := range sections {
		wrong := func(line int, format string, args ...any) {
			r.problem(&r.WatchFile, fmt.Errorf("%s, line %d: %s: %w", r.WatchFile, line, section, fmt.Errorf(format, args...)))
		}
		kind, known := kinds[section]
		switch {
		case !known:
			wrong(n.Line, "unknown section: %s", watchForm)
			continue
		case n.Tag == "!!null":
			continue
		case n.Kind != yaml.MappingNode:
			wrong(n.Line, "write entries name: value")
			continue
		case kind.fromData && r.DataURL == "" && len(n.Content) > 0:
			wrong(n.Line, "needs the Data service: set AVAX_DATA_URL")
		}
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			name, value := n.Content[i].Value, resolved(*n.Content[i+1])
			switch {
			case !ValidName(name):
				wrong(n.Content[i].Line, "%q: %s", name, nameRule)
			case seen[name]:
				wrong(n.Content[i].Line, "duplicate name %q: rename one of them", name)
			case value == "" || strings.ContainsAny(value, ", "):
				wrong(n.Content[i].Line, "%s: write one value", name)
			default:
				if err := kind.into.Decode(name + "=" + value); err != nil {
					wrong(n.Content[i].Line, "%w", err)
				}
			}
			seen[name] = true
		}
	}
}
