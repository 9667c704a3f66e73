package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
)

// runHelp prints the help of the program, or of the command in args.
func runHelp(_ context.Context, args []string, stdout, _ io.Writer) error {
	if len(args) > 0 {
		c, err := find(args[0])
		if err != nil {
			return err
		}
		return printHelp(c, stdout)
	}
	fmt.Fprint(stdout, `avax-exporter: Prometheus exporter for Avalanche nodes, validators and L1s.

Usage: avax-exporter [COMMAND]

Commands:
`)
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, c := range commands() {
		fmt.Fprintf(table, "  %s\t%s\n", c.name, c.summary)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprint(stdout, `
Exit codes: 0 success, 1 failure, 2 wrong command line or configuration.

Environment variables:

`)
	for _, v := range config.Variables() {
		fmt.Fprintf(stdout, "  %s\n        %s", v.Name, v.Description)
		if v.Default != "" {
			fmt.Fprintf(stdout, " (default %s)", v.Default)
		}
		fmt.Fprintln(stdout)
	}
	return nil
}

// printHelp prints the help of one command.
func printHelp(c command, stdout io.Writer) error {
	usage := "avax-exporter " + c.name
	if c.args != "" {
		usage += " " + c.args
	}
	_, err := fmt.Fprintf(stdout, "Usage: %s\n\n%s.\n%s", usage, firstUpper(c.summary), c.help)
	return err
}

func firstUpper(s string) string { return string(s[0]-'a'+'A') + s[1:] }

// runVersion prints the version.
func runVersion(_ context.Context, _ []string, stdout, _ io.Writer) error {
	_, err := fmt.Fprintln(stdout, "avax-exporter", app.Version())
	return err
}
