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
	"strings"
	"syscall"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/spelling"
)

func main() {
	// Before any secret is read.
	if err := disableCoreDumps(); err != nil {
		fmt.Fprintln(os.Stderr, "avax-exporter: core dumps stay enabled, and one would contain secrets: prctl:", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// command is a sub-command.
type command struct {
	name    string
	args    string // in the usage line
	summary string // one line
	help    string // what help NAME prints after the usage line
	run     func(ctx context.Context, args []string, stdout, stderr io.Writer) error
}

// commands are in the order in which help lists them. The first one runs where
// none is named.
func commands() []command {
	return []command{
		{name: "run", summary: "ask the nodes and serve /metrics (the default)", run: runExporter},
		{name: "demo", summary: "run over a built-in simulated network with incidents", run: runDemo},
		{name: "check", summary: "read the configuration, ask every upstream once, report what is missing", run: runCheck},
		{name: "call", args: callArgs, summary: "call one method of a node or service and print the answer", help: callHelp(), run: runCall},
		{name: "explain", args: explainArgs, summary: "explain where an alert or a number comes from", help: explainHelp, run: runExplain},
		{name: "notify", args: notifyArgs, summary: "print an example of a notification file, or send a test page", help: notifyHelp(), run: runNotify},
		{name: "silence", args: silenceArgs, summary: "silence the alerts of a node during maintenance", help: silenceHelp, run: runSilence},
		{name: "healthcheck", summary: "exit 0 if the exporter on this machine answers", run: runHealthcheck},
		{name: "rules", args: "[--profile NAME] [--out DIR]", summary: "print the alert rules, or those of a profile, or write all rule files", run: runRules},
		{name: "dashboards", args: "[--out DIR]", summary: "print the Grafana overview, or write all dashboards", run: runDashboards},
		{name: "version", summary: "print the version", run: runVersion},
		{name: "help", args: "[COMMAND]", summary: "print this help, or that of a command", run: runHelp},
	}
}

// execute runs a command and returns the exit code: 0, 1 where something failed,
// 2 where the command line or the configuration is wrong.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout, stderr)
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "avax-exporter:", err)
	if errors.As(err, &config.InputError{}) {
		return 2
	}
	return 1
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	name := "run"
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	switch name {
	case "-h", "-help", "--help":
		name = "help"
	case "-version", "--version":
		name = "version"
	}
	c, err := find(name)
	if err != nil {
		return err
	}
	if c.args == "" && len(args) > 0 && !isHelp(args[0]) {
		return inputError("%s takes no arguments: see avax-exporter help %s", name, name)
	}
	if c.name != "help" && len(args) > 0 && isHelp(args[0]) {
		return printHelp(c, stdout)
	}
	err = c.run(ctx, args, stdout, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return printHelp(c, stdout)
	}
	return err
}

func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

// find returns the command with this name, or an error that says which one may
// be meant.
func find(name string) (command, error) {
	var names []string
	for _, c := range commands() {
		if c.name == name {
			return c, nil
		}
		names = append(names, c.name)
	}
	if near := spelling.Near(name, names); len(near) > 0 {
		return command{}, inputError("unknown command %q: did you mean %q?", name, near[0])
	}
	return command{}, inputError("unknown command %q: see avax-exporter help", name)
}

// inputError is a mistake in the command line.
func inputError(format string, args ...any) error {
	return config.InputError{Err: fmt.Errorf(format, args...)}
}

// configured adds what is wrong to the error of a configuration.
func configured(cfg *config.Config, err error) (*config.Config, error) {
	if err != nil {
		return nil, inputError("invalid configuration:\n  %s", strings.ReplaceAll(err.Error(), "\n", "\n  "))
	}
	return cfg, nil
}
