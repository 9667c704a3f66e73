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

	"github.com/avax-exporter/avax-exporter/internal/fleet"
	"github.com/avax-exporter/avax-exporter/internal/spelling"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

const callUsage = `usage: avax-exporter call [--node NAME] [--chain CHAIN] [--yes] METHOD [PARAMETERS]
       avax-exporter call avg_tps CHAINID [PAGETOKEN]

Asks a method of a node, the Data service (data.…) or the Metrics service (avg_tps)
once, and prints the result. The parameters are one JSON value: an object or, for
eth_…, a list. Where the Data service is asked about a network, it is AVAX_NETWORK
unless the parameters name one.

  --node NAME    the configured node to ask (default the first)
  --chain CHAIN  name, alias or blockchain ID of the chain to ask (default X for
                 avm.…, C for eth_…)
  --yes          call a method although it changes something

Methods; what stands in brackets may be left out:

`

// avgTPS is the one method of the Metrics service.
const avgTPS = "avg_tps"

// request is what the command call was given.
type request struct {
	node, chain string
	method      node.Method
	params      jsontext.Value // nil for none

	ofMetrics          bool
	chainID, pageToken string // for the Metrics service
}

// parseCall reads the arguments of the command call. Its error is flag.ErrHelp
// or says what to write instead.
func parseCall(args []string) (r request, err error) {
	flags := flag.NewFlagSet("call", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&r.node, "node", "", "")
	flags.StringVar(&r.chain, "chain", "", "")
	yes := flags.Bool("yes", false, "")
	words, err := parseAnywhere(flags, args)
	if err != nil {
		return r, err
	}
	if len(words) == 0 {
		return r, errors.New("name a method")
	}
	name, words := words[0], words[1:]
	if name == avgTPS {
		if len(words) != 1 && len(words) != 2 || r.node != "" || r.chain != "" {
			return r, errors.New("write avg_tps, the chain's number and, for a further page, its token")
		}
		r.ofMetrics, r.chainID = true, words[0]
		if len(words) == 2 {
			r.pageToken = words[1]
		}
		return r, nil
	}

	methods := append(node.Methods(), dataMethods()...)
	i := slices.IndexFunc(methods, func(m node.Method) bool { return m.Name == name })
	if i < 0 {
		var names []string
		for _, m := range methods {
			names = append(names, m.Name)
		}
		if near := spelling.Near(name, names); len(near) > 0 {
			return r, fmt.Errorf("there is no method %q; near it are %s", name, strings.Join(near, ", "))
		}
		return r, fmt.Errorf("there is no method %q", name)
	}
	r.method = methods[i]
	switch {
	case len(words) > 1:
		return r, fmt.Errorf("write the parameters as one JSON value in quotes: %s", r.method.Usage())
	case len(words) == 1:
		r.params = jsontext.Value(words[0])
	}
	if err := r.method.Check(r.params); err != nil {
		return r, err
	}
	if r.method.Changes != "" && !*yes {
		return r, fmt.Errorf("%s would %s; add --yes to do it", name, r.method.Changes)
	}
	service, _, _ := strings.Cut(name, ".")
	switch {
	case service == "data" && r.node != "":
		return r, fmt.Errorf("%s is not asked of a node: leave --node out", name)
	case r.chain != "" && !r.method.OfChain():
		return r, fmt.Errorf("%s is not asked of a chain: leave --chain out", name)
	case r.chain != "" || !r.method.OfChain():
	case service == "avm":
		r.chain = "X"
	case strings.HasPrefix(name, "eth_"):
		r.chain = "C"
	default:
		return r, fmt.Errorf("%s is asked of a chain: name it with --chain", name)
	}
	return r, nil
}

// parseAnywhere reads flags that may stand before, between and after the words,
// and returns the words.
func parseAnywhere(flags *flag.FlagSet, args []string) (words []string, err error) {
	for rest := args; len(rest) > 0; {
		if err := flags.Parse(rest); err != nil {
			return nil, err
		}
		if rest = flags.Args(); len(rest) > 0 {
			words, rest = append(words, rest[0]), rest[1:]
		}
	}
	return words, nil
}

// printCallUsage tells how to call, and every method there is.
func printCallUsage(out io.Writer) {
	fmt.Fprint(out, callUsage)
	for _, m := range append(node.Methods(), dataMethods()...) {
		remark := ""
		if e := endpointOf(m); e != nil {
			remark = "  " + e.Op()
		}
		switch {
		case m.Changes != "":
			remark += "  (changes something: --yes)"
		case m.Deprecated != "":
			remark = "  (deprecated, " + m.Deprecated + ")"
		}
		fmt.Fprintf(out, "  %s%s\n", m.Usage(), remark)
	}
}

// call puts the request to its upstream and prints the result.
func call(ctx context.Context, c *config, r request, out io.Writer) error {
	c.part = fleet.Part{} // a person may ask every node, whoever watches it
	everybody, err := newRoster(c, nil)
	if err != nil {
		return inputError{err}
	}
	answer, err := r.ask(ctx, everybody)
	if err != nil {
		return err
	}
	if answer == nil {
		_, err = fmt.Fprintln(out, "done")
		return err
	}
	if err := answer.Indent(jsontext.WithIndent("  "), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, string(answer))
	return err
}

func (r request) ask(ctx context.Context, everybody *roster) (jsontext.Value, error) {
	ups := everybody.own
	if e := endpointOf(r.method); e != nil {
		if everybody.data == nil {
			return nil, inputError{errors.New("there is no Data service to ask: set AVAX_DATA_URL")}
		}
		return everybody.data.call(ctx, e, everybody.c.network, r.params)
	}
	if r.ofMetrics {
		if ups.Metrics == nil {
			return nil, inputError{errors.New("there is no Metrics service to ask: set AVAX_METRICS_URL")}
		}
		return ups.Metrics.AvgTPSPage(ctx, r.chainID, r.pageToken)
	}
	var names []string
	for _, n := range ups.Nodes() {
		if r.node == "" || r.node == n.Name() {
			chain := r.chain
			for _, known := range ups.Chains() {
				if known.Name == r.chain {
					chain = known.Ref
				}
			}
			answer, err := n.Call(ctx, r.method, chain, r.params)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", n.Name(), err)
			}
			return answer, nil
		}
		names = append(names, n.Name())
	}
	return nil, inputError{fmt.Errorf("there is no node %q; there are %s", r.node, strings.Join(names, ", "))}
}
