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

// watchSection is a section of AVAX_WATCH_FILE, and the variable with entries of the same form.
type watchSection struct {
	name     string
	variable func(*Values) *string
	fromData bool // only the Data service knows it
	form     itemForm
}

var watchSections = []watchSection{
	{"addresses", func(v *Values) *string { return &v.WatchAddresses }, false, itemForm{value: addressForm,
		remedy: "write addresses with their chain, such as P-avax1… or X-fuji1…, or 0x1f… with 40 hex digits after 0x"}},
	{"delegators", func(v *Values) *string { return &v.WatchDelegators }, false, itemForm{value: delegatorForm,
		remedy: "write P-Chain addresses, each with an optional name, such as treasury=P-avax1…"}},
	{"assets", func(v *Values) *string { return &v.WatchAssets }, false, itemForm{value: idForm,
		remedy: "write asset IDs, of about fifty letters and digits"}},
	{"contracts", func(v *Values) *string { return &v.WatchContracts }, true, itemForm{value: evmForm,
		remedy: "write addresses that deploy contracts, such as 0x1f… with 40 hex digits after 0x"}},
	{"tokens", func(v *Values) *string { return &v.WatchTokens }, true, itemForm{value: tokenForm,
		remedy: "write chain/contract/id, such as C/0x1f…/7; a contract is 0x and 40 hex digits, an ID is a whole number, " +
			"and the suffix :reindex is optional"}},
	{"signatures", func(v *Values) *string { return &v.WatchSignatures }, true, itemForm{value: idForm, named: true,
		remedy: "write name=txHash, such as conversion=2GAZ…: the hash of a transaction of the P- or X-Chain has about fifty letters and digits"}},
}

// watchlist returns what is monitored in addition to nodes: the variables, and the entries of AVAX_WATCH_FILE.
func (r *reader) watchlist() collector.Watchlist {
	items := map[string][]collector.Item{} // by section
	for _, s := range watchSections {
		field := s.variable(&r.Values)
		all, err := s.form.parse(nil, *field)
		r.note(field, err)
		items[s.name] = all
	}
	addresses := itemForm{value: evmForm, remedy: "write addresses, such as 0x1f… with 40 hex digits after 0x, or chain=0x1f…"}
	messengers, err := addresses.parse(nil, r.ICMMessengers)
	r.note(&r.ICMMessengers, err)
	if r.WatchFile != "" {
		r.watchFile(items)
	}
	w := collector.Watchlist{Validators: r.Validators.Validators, Delegators: items["delegators"], Assets: items["assets"], Contracts: items["contracts"],
		Signatures: items["signatures"], Messengers: messengers}
	for _, a := range items["addresses"] {
		if strings.HasPrefix(a.Value, "0x") {
			w.EVM = append(w.EVM, a)
		} else {
			w.Addresses = append(w.Addresses, a)
		}
	}
	for _, t := range items["tokens"] {
		if parts := tokenForm.FindStringSubmatch(t.Value); parts != nil {
			token := collector.Token{Chain: parts[1], Contract: parts[2], ID: parts[3], Reindex: parts[4] != ""}
			if t.Name != t.Value {
				token.Name = t.Name
			}
			w.Tokens = append(w.Tokens, token)
		}
	}
	r.checkNetwork(w)
	var tokens any = &r.WatchTokens
	if r.WatchTokens == "" {
		tokens = &r.WatchFile
	}
	if w.Tokens != nil && w.EVM == nil {
		r.note(tokens, errors.New("no holder of a token is monitored: add the holders, such as 0x1f…, to AVAX_WATCH_ADDRESSES"))
	}
	for _, t := range w.Tokens { // with auto, the chain may be found later
		if !r.Chains.Auto && !slices.ContainsFunc(r.Chains.List, func(c nodes.Chain) bool { return c.Name == t.Chain }) {
			r.note(tokens, fmt.Errorf("\"%s/%s/%s\": AVAX_CHAINS has no chain %q: add it there", t.Chain, t.Contract, t.ID, t.Chain))
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
		case strings.Contains(r.WatchAddresses, a):
			field = &r.WatchAddresses
		case strings.Contains(r.WatchDelegators, a):
			field = &r.WatchDelegators
		}
		r.note(field, fmt.Errorf("%q is an address of %s, but %s is of %s: write an address of %s", a, of, source, network, network))
	}
}

// watchFile adds the entries of the file to the items of its sections. An entry has the form that it has in a variable.
func (r *reader) watchFile(items map[string][]collector.Item) {
	text, err := r.open(r.WatchFile)
	if err != nil {
		r.note(&r.WatchFile, err)
		return
	}
	var sections map[string]yaml.Node
	r.noteAt(&r.WatchFile, r.WatchFile, decodeYAML(text, &sections, watchForm))
	for section, n := range sections {
		wrong := func(line int, format string, args ...any) {
			r.noteAt(&r.WatchFile, r.WatchFile, fmt.Errorf("line %d: %s: %w", line, section, fmt.Errorf(format, args...)))
		}
		known := slices.IndexFunc(watchSections, func(s watchSection) bool { return s.name == section })
		switch {
		case known < 0:
			wrong(n.Line, "unknown section: %s", watchForm)
			continue
		case n.Tag == "!!null":
			continue
		case n.Kind != yaml.MappingNode:
			wrong(n.Line, "write entries name: value")
			continue
		case watchSections[known].fromData && r.DataURL == "" && len(n.Content) > 0:
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
				if items[section], err = watchSections[known].form.parse(items[section], name+"="+value); err != nil {
					wrong(n.Content[i].Line, "%w", err)
				}
			}
			seen[name] = true
		}
	}
}
