package main

import (
	"context"
	"fmt"
	"io"
	"strings"
)

const completionHelp = `
Arguments:
  SHELL  bash, zsh or fish

Examples:
  source <(avax-exporter completion bash)
  avax-exporter completion fish > ~/.config/fish/completions/avax-exporter.fish
`

// runCompletion prints a script that completes the names of the commands.
func runCompletion(_ context.Context, args []string, stdout, _ io.Writer) error {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	all := strings.Join(names, " ")
	shell := strings.Join(args, " ")
	switch shell {
	case "bash":
		fmt.Fprintf(stdout, "complete -W '%s' avax-exporter\n", all)
	case "zsh":
		fmt.Fprintf(stdout, "#compdef avax-exporter\ncompdef \"_arguments '1: :(%s)'\" avax-exporter\n", all)
	case "fish":
		fmt.Fprintf(stdout, "complete -c avax-exporter -n __fish_use_subcommand -f -a '%s'\n", all)
	default:
		return inputError("completion: unknown shell %q: write bash, zsh or fish", shell)
	}
	return nil
}
