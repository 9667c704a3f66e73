package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

const isBackHelp = `
Prints whether a node is back after a restart: it answers, is bootstrapped on
all chains that it validates or ran before, is healthy and connected, for two
minutes.

Arguments:
  NODE             name or node ID of a node

Options:
  --wait DURATION  wait until the node is back, but no longer, such as 20m. The
                   two minutes begin with the command at the earliest: the
                   exporter may not have seen the restart yet.
  --from URL       address of the exporter
                   (default: the exporter on this machine, at AVAX_LISTEN)

Examples:
  avax-exporter is-back alpha
  avax-exporter is-back alpha --wait 20m && echo upgraded
`

const wavesHelp = `
Prints which nodes may stop together: as few groups as possible, each with the
share of every validator set that stays active and connected. Stop a group when
all nodes of the one before are back. Without names, it is about all nodes.

Arguments:
  NODE        name of a node
` + safeOptions + `
Examples:
  avax-exporter waves
  avax-exporter waves alpha bravo charlie
`

// backEvery is how often is-back asks while it waits.
const backEvery = 5 * time.Second

// runIsBack asks the running exporter whether a node is back.
func runIsBack(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var from string
	var wait time.Duration
	named, err := parse(args, func(flags *flag.FlagSet) {
		flags.StringVar(&from, "from", "", "")
		flags.DurationVar(&wait, "wait", 0, "")
	})
	switch {
	case err != nil:
	case len(named) != 1 || named[0] == "":
		err = errors.New("name one node")
	case wait < 0:
		err = errors.New("--wait: write a duration above 0, such as 20m")
	}
	if err != nil {
		return usageError{err}
	}
	exporter, _, err := exporterOf(from)
	if err != nil {
		return err
	}
	query := url.Values{"node": named}
	if wait > 0 {
		query.Set("after", strconv.FormatInt(time.Now().Unix(), 10))
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	last := errors.New("the exporter has not answered")
	for told := ""; ; {
		answer, err := exporter.verdict(ctx, "/is-back?"+query.Encode())
		switch {
		case err == nil:
			err = printAnswer(stdout, answer)
			return err
		case wait == 0 || errors.As(err, &config.InputError{}):
			return err
		case ctx.Err() != nil:
			return fmt.Errorf("waited %s: %w", wait, last)
		}
		if last = err; err.Error() != told {
			told = err.Error()
			fmt.Fprintln(stderr, words.Printable(told))
		}
		select {
		case <-time.After(backEvery):
		case <-ctx.Done():
			return fmt.Errorf("waited %s: %w", wait, last)
		}
	}
}
