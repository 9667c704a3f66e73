package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

const completionHelp = `
The script completes the commands, and after a command the names of the nodes
that the exporter on this machine monitors.

Arguments:
  SHELL  bash, zsh or fish; nodes prints the names of the nodes

Examples:
  source <(avax-exporter completion bash)
  avax-exporter completion fish > ~/.config/fish/completions/avax-exporter.fish
`

// The scripts complete the first word with the commands, and further words with the nodes.
const (
	bashScript = `_avax_exporter() {
  local words='%s'
  [ "$COMP_CWORD" -gt 1 ] && words=$(avax-exporter completion nodes 2>/dev/null)
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _avax_exporter avax-exporter
`
	zshScript = `#compdef avax-exporter
_avax_exporter() {
  if (( CURRENT == 2 )); then
    compadd -- %s
  else
    compadd -- ${(f)"$(avax-exporter completion nodes 2>/dev/null)"}
  fi
}
compdef _avax_exporter avax-exporter
`
	fishScript = `complete -c avax-exporter -n __fish_use_subcommand -f -a '%s'
complete -c avax-exporter -n 'not __fish_use_subcommand' -a '(avax-exporter completion nodes 2>/dev/null)'
`
)

// runCompletion prints a script that completes the names of the commands and nodes.
func runCompletion(ctx context.Context, args []string, stdout, _ io.Writer) error {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	scripts := map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}
	shell := strings.Join(args, " ")
	if shell == "nodes" {
		return printNodes(ctx, stdout)
	}
	script, known := scripts[shell]
	if !known {
		return inputError("completion: unknown shell %q: write bash, zsh or fish", shell)
	}
	_, err := fmt.Fprintf(stdout, script, strings.Join(names, " "))
	return err
}

// completionPatience limits the time in which a shell waits for the names of nodes.
const completionPatience = 2 * time.Second

// Other characters might mean something to the shell.
var nodeLabel = regexp.MustCompile(`(?m)^avax_node_up\{node="([\w.:-]+)"`)

// printNodes prints the names of the nodes of the exporter on this machine, one in a line.
func printNodes(ctx context.Context, stdout io.Writer) error {
	e, _, err := exporterOf("")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	page, err := e.answerOf(ctx, "/metrics")
	if err != nil {
		return err
	}
	for _, found := range nodeLabel.FindAllStringSubmatch(page, -1) {
		fmt.Fprintln(stdout, found[1])
	}
	return nil
}
