package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/remedy"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// Methods returns every method of a node and of the Data service.
func Methods() []*scrape.Method { return slices.Concat(node.Methods(), data.Methods()) }

// Request is one call of a method.
type Request struct {
	Method *scrape.Method
	Params jsontext.Value // nil for none
	Node   string         // configured node or observer; empty: the first
	Chain  string         // name, alias or blockchain ID, for methods of a chain
	All    bool           // all pages of a list

	ChainID string        // parameter of metrics.AvgTPS, which has no Params
	At      scrape.Cursor // of the page; empty: that in Params, or the first page
}

// Call makes one call and yields the result, or nil if the result is empty. With Request.All, it yields each page of a list. If the
// upstream is not configured or a parameter is invalid, the error is a config.InputError.
func Call(ctx context.Context, cfg *config.Config, r Request) iter.Seq2[jsontext.Value, error] {
	return func(yield func(jsontext.Value, error) bool) {
		ups, err := Upstreams(cfg)
		if err != nil {
			yield(nil, err)
			return
		}
		if r.Chain != "" && cfg.Chains.Auto && !slices.ContainsFunc(ups.Chains(), func(c nodes.Chain) bool { return c.Name == r.Chain }) {
			if chains, err := ups.Discover(ctx, ups.Chains()); err == nil { // else the name may be an alias or an ID
				ups.SetChains(chains)
			}
		}
		var place scrape.Place
		for {
			answer, err := callOnce(ctx, ups, r)
			if !yield(answer, err) || err != nil || !r.All {
				return
			}
			next := r.Method.Next(answer)
			if next.Value == "" {
				return
			}
			if err := place.Follow(next.Value); err != nil {
				yield(nil, scrape.BadPage(r.Method.Op(), err))
				return
			}
			r.At = next
		}
	}
}

func callOnce(ctx context.Context, ups *collector.Upstreams, r Request) (jsontext.Value, error) {
	switch {
	case r.Method == metrics.AvgTPS.Method && ups.Metrics == nil:
		return nil, config.InputError{Err: errors.New("no Metrics service configured: set AVAX_METRICS_URL")}
	case r.Method == metrics.AvgTPS.Method:
		return ups.Metrics.AvgTPSPage(ctx, r.ChainID, r.At)
	case r.Method.Verb == "":
		return callNode(ctx, ups, r)
	}
	if ups.Data == nil {
		return nil, config.ErrNoData
	}
	answer, err := callData(ctx, ups, r)
	if data.IsKeyRejected(err) {
		err = fmt.Errorf("%w: %s", err, remedy.Of(err).Do)
	}
	return answer, err
}

func callNode(ctx context.Context, ups *collector.Upstreams, r Request) (jsontext.Value, error) {
	var names []string
	for _, n := range slices.Concat(ups.Nodes(), ups.Observers()) {
		if r.Node != "" && r.Node != n.Name() {
			names = append(names, n.Name())
			continue
		}
		chain := r.Chain
		for _, known := range ups.Chains() {
			if known.Name == r.Chain {
				chain = known.Ref
			}
		}
		answer, err := n.Call(ctx, r.Method, chain, r.Params)
		switch isUnknown := scrape.OutcomeOf(err) == scrape.NotFound && chain != ""; {
		case isUnknown && (chain == "X" || chain == "C"):
			err = fmt.Errorf("%w: the node does not run chain %s: with partial-sync-primary-network, a node runs only the P-Chain and its L1s; "+
				"call another node", err, chain)
		case isUnknown && chain != r.Chain:
			err = fmt.Errorf("%w: the node does not run chain %s: start it with --track-subnets for the subnet of the chain, or call another node", err, r.Chain)
		case isUnknown:
			var known []string
			for _, c := range ups.Chains() {
				known = append(known, c.Name)
			}
			err = fmt.Errorf("%w: unknown chain %q: write a name of AVAX_CHAINS (%s), an alias or a blockchain ID", err, chain, strings.Join(known, ", "))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.Name(), err)
		}
		return answer, nil
	}
	if len(names) == 0 {
		return nil, config.InputError{Err: fmt.Errorf("%s is a method of a node: set AVAX_NODES or AVAX_OBSERVERS", r.Method.Name)}
	}
	what := "nodes"
	if len(ups.Observers()) > 0 {
		what = "nodes and observers"
	}
	return nil, config.InputError{Err: fmt.Errorf("unknown node %q: the %s are %s", r.Node, what, strings.Join(names, ", "))}
}

// callData calls a method of the Data service. The default network is that of the nodes.
func callData(ctx context.Context, ups *collector.Upstreams, r Request) (jsontext.Value, error) {
	given := map[string]jsontext.Value{}
	if r.Params != nil {
		if err := json.Unmarshal(r.Params, &given); err != nil {
			return nil, err
		}
	}
	args := data.Args{}
	for name, value := range given {
		args[name] = value
	}
	if r.All && given["pageSize"] == nil {
		args["pageSize"] = min(r.Method.MaxPageSize, data.MaxPageSize)
	}
	if r.At.Value != "" {
		args[r.At.Param] = r.At.Value
	}
	if given["network"] == nil && strings.Contains(r.Method.Path, "{network}") {
		network, err := ups.FindNetwork(ctx)
		if err != nil {
			return nil, err
		}
		args["network"] = network
	}
	path, body, err := data.Request(r.Method, args)
	if err != nil {
		return nil, config.InputError{Err: fmt.Errorf("call: %s: %w", r.Method.Name, err)}
	}
	return ups.Data.Call(ctx, r.Method, path, body)
}

// Describe returns a method with its parameters and notes.
func Describe(m *scrape.Method) string {
	remark := ""
	if m.Verb != "" {
		remark = "  " + m.Op()
	}
	switch {
	case m.Changes != "":
		remark += "  (needs --yes)"
	case m.Deprecated != "":
		remark = "  (deprecated, " + m.Deprecated + ")"
	}
	return m.Usage() + remark
}
