// avax-exporter monitors Avalanche nodes, validators and L1s: it exports Prometheus
// metrics and evaluates alert rules.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/spelling"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

func main() {
	// First of all, before the program reads any secret.
	if err := disableCoreDumps(); err != nil {
		fmt.Fprintln(os.Stderr, "avax-exporter: core dumps stay enabled and would contain secrets: prctl:", err)
	}
	if os.Getenv("AVAX_PPROF_LISTEN") == "" {
		runtime.MemProfileRate = 0 // records of allocations take several megabytes after a day; only the profiles show them
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if len(os.Args) > 1 && !slices.Contains([]string{"run", "demo"}, os.Args[1]) {
		context.AfterFunc(ctx, func() { // a command that computes does not look at its context
			time.Sleep(commandEnds)
			fmt.Fprintln(os.Stderr, "avax-exporter:", os.Args[1]+": "+endedBySignal)
			os.Exit(1)
		})
	}
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// commandEnds is how long a command may run after a signal, to write what it has. The daemon has limits of its own.
const commandEnds = 2 * time.Second

const endedBySignal = "ended by a signal"

// command is a subcommand.
type command struct {
	name    string
	args    string // in the usage line
	summary string // one line
	help    string // arguments, options and examples
	failure string // meaning of exit code 1
	run     func(ctx context.Context, args []string, stdout, stderr io.Writer) error
}

// commands lists the commands in the order of the help. The first is the default. The short help describes firstCommands of them.
func commands() []command {
	return []command{
		{name: "run", summary: "export metrics and evaluate alert rules (the default command)", help: runHelpText, failure: "the exporter cannot start or serve",
			run: runExporter},
		{name: "demo", summary: "run the exporter over a simulated network with incidents", help: demoHelp, failure: "the exporter cannot start or serve",
			run: runDemo},
		{name: "init", args: initArgs, summary: "set up: try your node and a receiver, write two files", help: initHelp(),
			failure: "the node does not answer, or the receiver did not accept the test", run: runInit},
		{name: "check", args: checkArgs, summary: "check the configuration and call every node and service once", help: checkHelp,
			failure: "a finding: a node or service has a problem",
			run:     runCheck},
		{name: "explain", args: explainArgs, summary: "explain the state of an alert or the source of a metric", help: explainHelp,
			failure: "the exporter does not answer", run: runExplain},
		{name: "notify", args: notifyArgs, summary: "print an example notification file, or send a test", help: notifyHelp(),
			failure: "a receiver did not accept the test", run: runNotify},
		{name: "safe-to-stop", args: "[--force] [--from URL] NODE", summary: "tell whether a node can be stopped now", help: safeToStopHelp,
			failure: "no, or not known", run: verdictOf("/safe-to-stop", "node", true)},
		{name: "call", args: callArgs, summary: "call one method of a node or service and print the answer", help: callHelp(), failure: "the call failed",
			run: runCall},
		{name: "safe-to-remove", args: "[--force] [--from URL] VALIDATION", summary: "tell whether an L1 validator can be removed now", help: safeToRemoveHelp,
			failure: "no, or not known", run: verdictOf("/safe-to-remove", "validation", true)},
		{name: "is-back", args: "[--wait DURATION] [--from URL] NODE", summary: "tell whether a node is back after a restart", help: isBackHelp,
			failure: "no, or not known", run: runIsBack},
		{name: "waves", args: "[--force] [--from URL] [NODE...]", summary: "tell which nodes may stop together", help: wavesHelp,
			failure: "a node cannot stop now, or not known", run: verdictOf("/waves", "node", false)},
		{name: "silence", args: silenceArgs, summary: "silence the alerts of a node, L1, alert or label", help: silenceHelp, failure: "no silence was created",
			run: runSilence},
		{name: "mcp", args: mcpArgs, summary: "serve tools for AI agents (Model Context Protocol)", help: mcpHelp, failure: "standard input or output failed",
			run: runMCP},
		{name: "healthcheck", summary: "check that the exporter on this machine answers", help: healthcheckHelp, failure: "the exporter does not answer",
			run: runHealthcheck},
		{name: "rules", args: rulesArgs, summary: "print the alert rules, or write all rule files", help: rulesHelp, failure: "a file cannot be written",
			run: runRules},
		{name: "dashboards", args: dashboardsArgs, summary: "print the overview dashboard, or write all dashboards", help: dashboardsHelp,
			failure: "a file cannot be written", run: runDashboards},
		{name: "backtest", args: backtestArgs, summary: "evaluate the alert rules over the history of a Prometheus", help: backtestHelp,
			failure: "the history cannot be read", run: runBacktest},
		{name: "rewards", args: rewardsArgs, summary: "print the staking rewards that were paid", help: rewardsHelp, failure: "the rewards cannot be read",
			run: runRewards},
		{name: "completion", args: "SHELL", summary: "print a completion script for a shell", help: completionHelp, run: runCompletion},
		{name: "version", summary: "print the version", run: runVersion},
		{name: "help", args: "[COMMAND | all]", summary: "print the help of the program or of a command", help: helpHelp, run: runHelp},
	}
}

// execute runs a command and returns the exit code: 0 for success, 1 for a failure,
// 2 for an invalid command line or configuration.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, words.PrintableWriter{Writer: stdout}, stderr)
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "avax-exporter:", words.Printable(err.Error()))
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
	case "-v", "-version", "--version":
		name = "version"
	}
	c, err := find(name)
	if err != nil {
		return err
	}
	if c.args == "" && len(args) > 0 && !isHelp(args[0]) {
		return inputError("%s takes no arguments: see avax-exporter help %s", name, name)
	}
	if len(args) > 0 && isHelp(args[0]) {
		return printHelp(c, stdout)
	}
	err = c.run(ctx, args, stdout, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return printHelp(c, stdout)
	case errors.As(err, new(usageError)):
		return inputError("%s: %w: see avax-exporter help %[1]s", c.name, err)
	}
	return err
}

// usageError is an error in the arguments of a command, with a remedy.
type usageError struct{ error }

// Unwrap returns the error.
func (e usageError) Unwrap() error { return e.error }

// parse parses the arguments of a command. Flags may be at any position. It returns the other arguments.
func parse(args []string, declare func(*flag.FlagSet)) (words []string, err error) {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	declare(flags)
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

// parseFlags is parse for a command without other arguments.
func parseFlags(args []string, declare func(*flag.FlagSet)) error {
	words, err := parse(args, declare)
	if err == nil && len(words) > 0 {
		err = fmt.Errorf("unexpected argument %q", words[0])
	}
	return err
}

// timeBefore parses the time of a flag: a duration before now, or RFC 3339.
func timeBefore(flag, text string, now time.Time) (time.Time, error) {
	if d, err := model.ParseDuration(text); err == nil {
		return now.Add(-time.Duration(d)), nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		t, err = time.Parse(time.RFC3339, text)
	}
	if err != nil {
		return t, fmt.Errorf("%s: invalid time %q: write a duration such as 30d, or a time such as 2026-10-01T00:00:00Z", flag, text)
	}
	return t, nil
}

func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

// find returns the command with this name, or an error that suggests one.
func find(name string) (command, error) {
	var names []string
	for _, c := range commands() {
		if c.name == name {
			return c, nil
		}
		names = append(names, c.name)
	}
	if near := spelling.Near(name, names); len(near) > 0 {
		return command{}, inputError("unknown command %q; did you mean %q?", name, near[0])
	}
	return command{}, inputError("unknown command %q; see avax-exporter help", name)
}

// inputError returns an error in the command line.
func inputError(format string, args ...any) error {
	return config.InputError{Err: fmt.Errorf(format, args...)}
}

// configured adds the operation to the error of a configuration.
func configured[T any](cfg T, err error) (T, error) {
	if err != nil {
		return cfg, inputError("invalid configuration:\n  %s", strings.ReplaceAll(err.Error(), "\n", "\n  "))
	}
	return cfg, nil
}
