package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
)

// firstCommands is the number of commands that the short help describes.
const firstCommands = 7

// runHelp prints the help of the program, of a command, or with all, everything about commands and variables.
func runHelp(_ context.Context, args []string, stdout, _ io.Writer) error {
	all := len(args) > 0 && args[0] == "all"
	if len(args) > 0 && !all {
		c, err := find(args[0])
		if err != nil {
			return err
		}
		return printHelp(c, stdout)
	}
	fmt.Fprint(stdout, `Prometheus exporter and alerting for Avalanche nodes, validators and L1s.

Usage: avax-exporter [COMMAND] [ARGUMENTS]

Commands:
`)
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	var more []string
	for i, c := range commands() {
		if i >= firstCommands && !all {
			more = append(more, c.name)
			continue
		}
		fmt.Fprintf(table, "  %s\t%s\n", c.name, c.summary)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if !all {
		fmt.Fprintf(stdout, "\n%s", wrap("More commands: "+strings.Join(more, ", ")+".", "", ""))
	}
	fmt.Fprint(stdout, `
Help of a command: avax-exporter help COMMAND, or avax-exporter COMMAND --help.

Examples:
  avax-exporter demo
  avax-exporter init
  AVAX_NODES=mine=http://127.0.0.1:9650 avax-exporter

Exit codes:
  0  success
  1  failure
  2  invalid command line or configuration

`)
	if all {
		return printVariables(stdout)
	}
	fmt.Fprint(stdout, "You configure the exporter with environment variables. The most important:\n\n")
	for _, v := range config.Variables() {
		if v.Brief != "" {
			fmt.Fprintf(table, "  AVAX_%s\t%s\n", v.Name, v.Brief)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(stdout, "\nAll commands and variables: avax-exporter help all\n")
	return err
}

// printVariables prints the help of every variable.
func printVariables(stdout io.Writer) error {
	fmt.Fprint(stdout, `You configure the exporter with environment variables:

- A duration has a unit, such as 15s, 5m or 24h.
- "Empty" means that the variable is not set, or has an empty value.
- A service is the Data service or the Metrics service of AvaCloud.
- Documents such as fleets.md are at
  https://github.com/avax-exporter/avax-exporter/tree/main/docs
`)
	subject := ""
	for _, v := range config.Variables() {
		if v.Subject != subject {
			subject = v.Subject
			fmt.Fprintf(stdout, "\n%s:\n\n", subject)
		}
		fmt.Fprintf(stdout, "  AVAX_%s\n%s", v.Name, wrap(v.Description, "      ", "      "))
		if v.Default != "" {
			fmt.Fprintf(stdout, "      Default: %s\n", v.Default)
		}
	}
	return nil
}

const helpHelp = `
Arguments:
  COMMAND  a command of avax-exporter, or all: every command and variable
           (default: the most important ones)

Examples:
  avax-exporter help call
`

// printHelp prints the help of one command.
func printHelp(c command, stdout io.Writer) error {
	fmt.Fprintf(stdout, "%s\n%s.\n%s", wrap("Usage: avax-exporter "+c.name+" "+c.args, "", "           "), firstUpper(c.summary), c.help)
	fmt.Fprint(stdout, "\nExit codes:\n  0  success\n")
	if c.failure != "" {
		fmt.Fprintf(stdout, "  1  %s\n", c.failure)
	}
	_, err := fmt.Fprint(stdout, "  2  invalid command line or configuration\n")
	return err
}

// helpWidth is the number of columns of the help.
const helpWidth = 80

// wrap breaks a text at spaces into lines of at most helpWidth columns. first is the indent of the first line, others
// the indent of all other lines. A word that is too long has a line of its own.
func wrap(text, first, others string) string {
	var b strings.Builder
	line := first
	for i, word := range strings.Fields(text) {
		if i > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > helpWidth {
			b.WriteString(line + "\n")
			line = others + word
			continue
		}
		if i > 0 {
			line += " "
		}
		line += word
	}
	return b.String() + line + "\n"
}

func firstUpper(s string) string { return string(s[0]-'a'+'A') + s[1:] }

// runVersion prints the version.
func runVersion(_ context.Context, _ []string, stdout, _ io.Writer) error {
	_, err := fmt.Fprintln(stdout, "avax-exporter", app.Version())
	return err
}
