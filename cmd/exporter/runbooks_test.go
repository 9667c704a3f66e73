package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// runbookCommands returns the lines of the runbooks' code blocks, by page, with their continuation lines.
func runbookCommands(t *testing.T) map[string][]string {
	t.Helper()
	pages, err := filepath.Glob("../../docs/runbooks/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no runbooks: %v", err)
	}
	lines := map[string][]string{}
	for _, page := range pages {
		text := must.Get(os.ReadFile(page))(t)
		for i, block := range strings.Split(string(text), "```") {
			if i%2 == 0 {
				continue
			}
			code, ok := strings.CutPrefix(block, "sh\n")
			if !ok {
				t.Errorf("%s: a block of code that is not marked as sh", page)
			}
			for line := range strings.Lines(strings.ReplaceAll(code, "\\\n", "")) {
				lines[filepath.Base(page)] = append(lines[filepath.Base(page)], strings.TrimSpace(line))
			}
		}
	}
	return lines
}

// wordsIn splits a line of a shell up to the first pipe, redirection or semicolon. Single quotes keep a word together.
func wordsIn(line string) (all []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
			continue
		}
		end := strings.IndexAny(part, "|;>")
		if end >= 0 {
			part = part[:end]
		}
		all = append(all, strings.Fields(part)...)
		if end >= 0 {
			break
		}
	}
	return all
}

func TestRunbooksUseExistingCommands(t *testing.T) {
	checked := 0
	for page, lines := range runbookCommands(t) {
		for _, line := range lines {
			all := wordsIn(line)
			if len(all) == 0 || all[0] != "avax-exporter" {
				continue
			}
			var err error
			switch name, args := all[1], all[2:]; name {
			case "call":
				checked++
				_, err = parseCall(args)
			case "explain":
				checked++
				var w explainArguments
				w, err = parseExplain(args)
				if strings.HasPrefix(w.name, "Avax") && !bytes.Contains(alerts.Rules, []byte("alert: "+w.name+"\n")) {
					t.Errorf("%s: unknown alert: %s", page, line)
				}
			}
			if err != nil {
				t.Errorf("%s: %s: %v", page, line, err)
			}
		}
	}
	if checked < 60 {
		t.Errorf("only %d commands found", checked)
	}
}

// isFlag reports whether a command has a flag. It runs no command: --help follows.
func isFlag(t *testing.T, command, flag string) bool {
	err := dispatch(t.Context(), []string{command, flag, "x", "--help"}, io.Discard, io.Discard)
	return err == nil || strings.Contains(err.Error(), "invalid value")
}

var (
	mention   = regexp.MustCompile("(^|[^-a-zA-Z0-9_/.])avax-exporter ([a-z][-a-z]*)([^\n`|;&>)]*)")
	flagNamed = regexp.MustCompile(`(?:^|[\s\["(])(--?[a-z][-a-z]*)`)
)

// A renamed command or flag must not keep its old name in a document, a rule, a manifest, a page or an error.
func TestEveryMentionedCommandExists(t *testing.T) {
	flags, seen := []string{"--help", "--version", "--name", "--restart", "--network", "--user", "--env-file"}, 0 // the latter are Docker's
	for _, c := range commands() {
		for _, flag := range flagNamed.FindAllStringSubmatch(c.args+c.help, -1) {
			if isFlag(t, c.name, flag[1]) {
				flags = append(flags, flag[1])
			}
		}
	}
	for path, text := range testworld.Readable(t, "../..") {
		for _, at := range mention.FindAllStringSubmatchIndex(text, -1) {
			before, name, rest := text[at[2]:at[3]], text[at[4]:at[5]], text[at[6]:at[7]]
			place := fmt.Sprintf("%s:%d: avax-exporter %s", path, 1+strings.Count(text[:at[4]], "\n"), name)
			if _, err := find(name); err != nil {
				if before == "`" || before == `"` {
					t.Errorf("%s: %v", place, err)
				}
				continue // a sentence
			}
			seen++
			for _, flag := range flagNamed.FindAllStringSubmatch(rest, -1) {
				if flag[1] != "--help" && !isFlag(t, name, flag[1]) {
					t.Errorf("%s has no flag %s", place, flag[1])
				}
			}
		}
		if !strings.HasPrefix(path, "cmd/exporter/") || !strings.HasSuffix(path, ".go") {
			continue
		}
		for line := range strings.Lines(text) {
			for _, flag := range flagNamed.FindAllStringSubmatch(line, -1) {
				if strings.HasPrefix(flag[1], "--") && strings.Contains(line, `"`) && !slices.Contains(flags, flag[1]) {
					t.Errorf("%s: no command has a flag %s: %s", path, flag[1], line)
				}
			}
		}
	}
	if seen < 200 {
		t.Errorf("only %d commands found", seen)
	}
}

func TestRunbooksCallMethodsOfNodes(t *testing.T) {
	posted := regexp.MustCompile(`^curl .*-H 'content-type: application/json' .*-d '(\{.*?\})'\s+http://[^/]+(\S+)`)
	checked := 0
	for page, lines := range runbookCommands(t) {
		for _, line := range lines {
			if !strings.Contains(line, "jsonrpc") {
				continue
			}
			checked++
			m := posted.FindStringSubmatch(line)
			if m == nil {
				t.Errorf("%s: not a call of a node: %s", page, line)
				continue
			}
			var call struct {
				Method string
				Params json.RawMessage
			}
			if err := json.Unmarshal([]byte(m[1]), &call); err != nil {
				t.Errorf("%s: %v: %s", page, err, line)
				continue
			}
			args := []string{"--chain", "C", call.Method}
			if call.Params != nil {
				args = append(args, string(call.Params))
			}
			r, err := parseCall(args)
			if err != nil && !strings.Contains(err.Error(), "omit --chain") {
				t.Errorf("%s: %s: %v", page, line, err)
			}
			path := strings.ReplaceAll(regexp.QuoteMeta(r.Method.Path), `\{chain\}`, `[A-Za-z0-9_]+`)
			if !regexp.MustCompile("^" + path + "$").MatchString(m[2]) {
				t.Errorf("%s: the path of %s is %s: %s", page, call.Method, r.Method.Path, line)
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d calls found", checked)
	}
}
