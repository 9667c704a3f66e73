package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/fleet"
	"github.com/avax-exporter/avax-exporter/internal/remedy"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// AvgTPS is the only method of the Metrics service.
const AvgTPS = "avg_tps"

// Methods returns every method of a node and of the Data service that Call supports.
func Methods() []node.Method { return append(node.Methods(), dataMethods()...) }

// Request is one call of a method.
type Request struct {
	Method node.Method
	Params jsontext.Value // nil for none
	Node   string         // configured node; empty: the first
	Chain  string         // name, alias or blockchain ID, for methods of a chain

	// ChainID and PageToken are the parameters of AvgTPS. For AvgTPS, Method is not set.
	ChainID, PageToken string
}

// Call makes one call and returns the result, or nil if the result is empty. If the upstream is not configured, the error is a
// config.InputError.
func Call(ctx context.Context, cfg *config.Config, r Request) (jsontext.Value, error) {
	cfg.Shard = fleet.Part{} // a command can call the nodes of every shard
	t, err := newTargets(cfg, nil, nil)
	if err != nil {
		return nil, config.InputError{Err: err}
	}
	if e := endpointOf(r.Method); e != nil {
		if t.data == nil {
			return nil, config.InputError{Err: errors.New("no Data service configured: set AVAX_DATA_URL")}
		}
		answer, err := t.data.call(ctx, e, t.ups.FindNetwork, r.Params)
		if data.IsKeyRejected(err) {
			err = fmt.Errorf("%w: %s", err, remedy.Of(err).Do)
		}
		return answer, err
	}
	if r.ChainID != "" {
		if t.ups.Metrics == nil {
			return nil, config.InputError{Err: errors.New("no Metrics service configured: set AVAX_METRICS_URL")}
		}
		return t.ups.Metrics.AvgTPSPage(ctx, r.ChainID, r.PageToken)
	}
	var names []string
	for _, n := range t.ups.Nodes() {
		if r.Node != "" && r.Node != n.Name() {
			names = append(names, n.Name())
			continue
		}
		chain := r.Chain
		for _, known := range t.ups.Chains() {
			if known.Name == r.Chain {
				chain = known.Ref
			}
		}
		answer, err := n.Call(ctx, r.Method, chain, r.Params)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.Name(), err)
		}
		return answer, nil
	}
	return nil, config.InputError{Err: fmt.Errorf("unknown node %q: the nodes are %s", r.Node, strings.Join(names, ", "))}
}

// Describe returns a method with its parameters and notes.
func Describe(m node.Method) string {
	remark := ""
	if e := endpointOf(m); e != nil {
		remark = "  " + e.Op()
	}
	switch {
	case m.Changes != "":
		remark += "  (needs --yes)"
	case m.Deprecated != "":
		remark = "  (deprecated, " + m.Deprecated + ")"
	}
	return m.Usage() + remark
}
