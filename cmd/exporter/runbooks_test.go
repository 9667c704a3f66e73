package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/alerts"
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
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
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

// words splits a line of a shell up to the first pipe, redirection or semicolon. Single quotes keep a word together.
func words(line string) (all []string) {
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
			all := words(line)
			if len(all) == 0 || all[0] != "avax-exporter" {
				continue
			}
			checked++
			var err error
			switch name, args := all[1], all[2:]; name {
			case "call":
				_, err = parseCall(args)
			case "explain":
				var w explainArguments
				w, err = parseExplain(args)
				if strings.HasPrefix(w.name, "Avax") && !bytes.Contains(alerts.Rules, []byte("alert: "+w.name+"\n")) {
					t.Errorf("%s: unknown alert: %s", page, line)
				}
			default:
				_, err = find(name)
			}
			if err != nil {
				t.Errorf("%s: %s: %v", page, line, err)
			}
		}
	}
	if checked < 70 {
		t.Errorf("only %d commands found", checked)
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
