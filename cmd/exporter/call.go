package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/spelling"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

const callArgs = "[--node NAME] [--chain CHAIN] [--all] [--yes] METHOD [PARAMETERS]"

const callText = `
Arguments:
  METHOD         a method of a node, of the Data service (data.…) or of the
                 Metrics service (avg_tps)
  PARAMETERS     one JSON value: a list for eth_…, an object for all other
                 methods. The parameters of avg_tps are not JSON: write the EVM
                 chain ID and, optionally, a page token. For data.…, the
                 default network is AVAX_NETWORK or the nodes' network.

Options:
  --node NAME    the configured node or observer to call (default: the first)
  --chain CHAIN  name, alias or blockchain ID of the chain
                 (default: X for avm.…, C for eth_…)
  --all          print all pages of a list, one JSON value each
  --yes          allow methods that change something

Examples:
  avax-exporter call info.peers
  avax-exporter call --all data.rewards '{"nodeIds": "NodeID-…"}'
  avax-exporter call --node bravo info.isBootstrapped '{"chain": "C"}'
  avax-exporter call --chain C eth_getBlockByNumber '["latest", false]'

Methods with their parameters (? means optional):
`

// parseCall parses the arguments of the command call. The error is flag.ErrHelp, or it contains a remedy.
func parseCall(args []string) (r app.Request, err error) {
	yes := false
	words, err := parse(args, func(flags *flag.FlagSet) {
		flags.StringVar(&r.Node, "node", "", "")
		flags.StringVar(&r.Chain, "chain", "", "")
		flags.BoolVar(&r.All, "all", false, "")
		flags.BoolVar(&yes, "yes", false, "")
	})
	if err != nil {
		return r, err
	}
	if len(words) == 0 {
		return r, errors.New("name a method")
	}
	name, words := words[0], words[1:]
	if name == metrics.AvgTPS.Name {
		if len(words) != 1 && len(words) != 2 || r.Node != "" || r.Chain != "" {
			return r, errors.New("write avg_tps, the chain's number and, for a further page, its token")
		}
		r.Method, r.ChainID = metrics.AvgTPS.Method, words[0]
		if len(words) == 2 {
			r.At = scrape.Cursor{Param: "pageToken", Value: words[1]}
		}
		return r, nil
	}

	methods := app.Methods()
	i := slices.IndexFunc(methods, func(m *scrape.Method) bool { return m.Name == name })
	if i < 0 {
		var names []string
		for _, m := range methods {
			names = append(names, m.Name)
		}
		if near := spelling.Near(name, names); len(near) > 0 {
			return r, fmt.Errorf("unknown method %q; did you mean %s?", name, strings.Join(near, " or "))
		}
		return r, fmt.Errorf("unknown method %q", name)
	}
	r.Method = methods[i]
	switch {
	case len(words) > 1:
		return r, fmt.Errorf("write the parameters as one JSON value in quotes: %s", r.Method.Usage())
	case len(words) == 1:
		r.Params = jsontext.Value(words[0])
	}
	if err := r.Method.Check(r.Params); err != nil {
		return r, err
	}
	if r.Method.Changes != "" && !yes {
		return r, fmt.Errorf("%s would %s; add --yes to do it", name, r.Method.Changes)
	}
	service, _, _ := strings.Cut(name, ".")
	switch {
	case r.All && r.Method.MaxPageSize == 0:
		return r, fmt.Errorf("%s has no pages: omit --all", name)
	case service == "data" && r.Node != "":
		return r, fmt.Errorf("%s is no method of a node: omit --node", name)
	case r.Chain != "" && !node.OfChain(r.Method):
		return r, fmt.Errorf("%s is no method of a chain: omit --chain", name)
	case r.Chain != "" || !node.OfChain(r.Method):
	case service == "avm":
		r.Chain = "X"
	case strings.HasPrefix(name, "eth_"):
		r.Chain = "C"
	default:
		return r, fmt.Errorf("%s is a method of a chain: set --chain", name)
	}
	return r, nil
}

// callHelp lists every method with its parameters.
func callHelp() string {
	var b strings.Builder
	b.WriteString(callText)
	for _, m := range app.Methods() {
		b.WriteString(wrap(app.Describe(m), "  ", "      "))
	}
	return b.String()
}

// runCall makes one call and prints the result.
func runCall(ctx context.Context, args []string, stdout, _ io.Writer) error {
	r, err := parseCall(args)
	if err != nil {
		return usageError{err}
	}
	cfg, err := configured(config.Load())
	if err != nil {
		return err
	}
	for answer, err := range app.Call(ctx, cfg, r) {
		switch {
		case err != nil:
			return err
		case answer == nil:
			answer = jsontext.Value("done")
		default:
			err = answer.Indent(jsontext.WithIndent("  "), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		}
		if err == nil {
			_, err = fmt.Fprintln(stdout, string(answer))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
