package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/url"
)

const safeToStopHelp = `
Prints whether the node can be stopped: whether 80 % of the weight of each of
its L1s, and of the primary network's stake, stays active and connected.

Arguments:
  NODE        name or node ID of a node
` + safeOptions + `
Examples:
  avax-exporter safe-to-stop alpha && ssh alpha sudo reboot
`

const safeToRemoveHelp = `
Prints whether an L1 validator can be removed and its node be stopped: whether
80 % of the remaining weight is active and connected, whether another validator
can build the next block, and whether the node may stop for its other chains, as
safe-to-stop says. It also prints what happens if the balance of the validator
runs out.

Arguments:
  VALIDATION  validation ID: avax_l1_validator_info lists them
` + safeOptions + `
Examples:
  avax-exporter safe-to-remove VALIDATION --from http://monitoring:9865
`

const safeOptions = `
Options:
  --from URL  address of the exporter
              (default: the exporter on this machine, at AVAX_LISTEN)
  --force     answer yes although another node was told yes within the last
              minute
`

// verdictOf returns a command that prints the running exporter's answer about what the arguments name: one thing, or any number.
func verdictOf(path, parameter string, one bool) func(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	return func(ctx context.Context, args []string, stdout, _ io.Writer) error {
		var from string
		var force bool
		words, err := parse(args, func(flags *flag.FlagSet) {
			flags.StringVar(&from, "from", "", "")
			flags.BoolVar(&force, "force", false, "")
		})
		if err == nil && one && (len(words) != 1 || words[0] == "") {
			err = fmt.Errorf("name one %s", parameter)
		}
		if err != nil {
			return usageError{err}
		}
		exporter, _, err := exporterOf(from)
		if err != nil {
			return err
		}
		query := url.Values{parameter: words}
		if force {
			query.Set("force", "true")
		}
		answer, err := exporter.verdict(ctx, path+"?"+query.Encode())
		if err != nil {
			return err
		}
		err = printAnswer(stdout, answer)
		return err
	}
}
