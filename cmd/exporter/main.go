// avax-exporter asks Avalanche nodes on a schedule and serves what they answer
// to Prometheus.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	promversion "github.com/prometheus/common/version"
)

func main() {
	// Before any secret is read.
	if err := withholdMemory(); err != nil {
		fmt.Fprintln(os.Stderr, "avax-exporter: a core of this process would hold its secrets: prctl:", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

const usage = `avax-exporter: Prometheus exporter for Avalanche nodes, validators and L1s.

usage: avax-exporter [command]

  (none)       ask the nodes and serve /metrics
  demo         the same, over a simulated network with incidents
  check        read the configuration, ask every upstream once, tell what is missing
  call         ask one method of a node or service and print the answer: see call --help
  explain      tell where an alert or a number comes from: see explain --help
  healthcheck  exit 0 if the exporter on this machine answers
  rules        print the built-in alert rules; --out DIR writes them as files
  dashboards   print the overview for Grafana; --out DIR writes all dashboards as files
  version      print the version

It is configured by environment variables:

`

// inputError is a mistake in the command line or the configuration: exit code 2.
type inputError struct{ error }

// command runs a sub-command and returns the exit code: 0, 1 where something
// went wrong, 2 where the command line or the configuration is wrong.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout, stderr)
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "avax-exporter:", err)
	if errors.As(err, &inputError{}) {
		return 2
	}
	return 1
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	if len(args) > 1 && !slices.Contains([]string{"call", "explain", "rules", "dashboards"}, name) {
		return inputError{fmt.Errorf("%s takes no arguments; see avax-exporter help", name)}
	}
	var asked request
	var explained wanted
	switch name {
	case "call":
		var err error
		asked, err = parseCall(args[1:])
		if errors.Is(err, flag.ErrHelp) {
			printCallUsage(stdout)
			return nil
		}
		if err != nil {
			return inputError{fmt.Errorf("call: %w; see avax-exporter call --help", err)}
		}
	case "explain":
		var err error
		explained, err = parseExplain(args[1:])
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(stdout, explainUsage)
			return nil
		}
		if err != nil {
			return inputError{fmt.Errorf("explain: %w; see avax-exporter explain --help", err)}
		}
	case "help", "-h", "-help", "--help":
		fmt.Fprint(stdout, usage)
		for _, v := range variables() {
			fmt.Fprintf(stdout, "  %s\n        %s", v.Name, v.Description)
			if v.Default != "" {
				fmt.Fprintf(stdout, " (default %s)", v.Default)
			}
			fmt.Fprintln(stdout)
		}
		return nil
	case "version", "-version", "--version":
		fmt.Fprintln(stdout, "avax-exporter", version())
		return nil
	case "rules":
		return ruleFiles().give(name, args[1:], stdout)
	case "dashboards":
		files, err := dashboardFiles()
		if err != nil {
			return err
		}
		return files.give(name, args[1:], stdout)
	case "", "demo", "check", "healthcheck":
	default:
		return inputError{fmt.Errorf("there is no command %q; see avax-exporter help", name)}
	}

	c, err := load(name)
	if err != nil {
		return inputError{fmt.Errorf("the configuration has mistakes:\n  %s", strings.ReplaceAll(err.Error(), "\n", "\n  "))}
	}
	switch name {
	case "demo":
		return demo(ctx, c, stderr)
	case "check":
		return check(ctx, c, stdout)
	case "call":
		return call(ctx, c, asked, stdout)
	case "explain":
		return explainName(ctx, c, explained, stdout)
	case "healthcheck":
		return healthcheck(ctx, c)
	}
	return run(ctx, c, newLogger(c, stderr), nil)
}

// init tells the ecosystem's build_info what the go command recorded.
func init() { promversion.Version = version() }

// version is the module's version as the go command recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}
