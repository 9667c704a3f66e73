package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestHelpHasTheStandardForm checks the help of the program and of each command: usage, arguments,
// examples and exit codes, in 80 columns. Only an endpoint's path may be longer.
func TestHelpHasTheStandardForm(t *testing.T) {
	pages := map[string]command{"": {args: "[COMMAND]", failure: "failure"}, "all": {args: "[COMMAND]", failure: "failure"}}
	for _, c := range commands() {
		pages[c.name] = c
	}
	for name, c := range pages {
		var out, stderr strings.Builder
		if code := execute(t.Context(), append([]string{"help"}, strings.Fields(name)...), &out, &stderr); code != 0 {
			t.Fatalf("help %s: exit code %d: %s", name, code, &stderr)
		}
		if lines := strings.Count(out.String(), "\n"); name == "" && lines > 40 {
			t.Errorf("the help has %d lines, more than a terminal shows", lines)
		}
		var flagged strings.Builder
		if name == "all" {
			flagged.WriteString(out.String())
		} else if code := execute(t.Context(), append(strings.Fields(name), "--help"), &flagged, &stderr); code != 0 || flagged.String() != out.String() {
			t.Errorf("%s --help: exit code %d, and not the same as help %s: %s", name, code, name, &stderr)
		}
		want := []string{"Usage: avax-exporter", "\nExit codes:\n  0  success\n"}
		if c.args != "" {
			want = append(want, "\nExamples:\n  ")
		}
		if c.failure != "" {
			want = append(want, "\n  1  "+c.failure+"\n")
		}
		for _, part := range want {
			if !strings.Contains(out.String(), part) {
				t.Errorf("help %s lacks %q", name, part)
			}
		}
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimRight(line, "\n"); utf8.RuneCountInString(line) > helpWidth && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("help %s has a line of %d columns: %s", name, utf8.RuneCountInString(line), line)
			}
		}
	}
}

// A long answer is folded at spaces, keeps its indent and its words, and a word that is too long stays whole.
func TestLongAnswersAreFolded(t *testing.T) {
	for text, want := range map[string]string{
		"yes: short":               "yes: short",
		"no: one two three four":   "no: one two\n  three four",
		"  true  a == b and c":     "  true  a ==\n    b and c",
		"averyveryverylongword":    "averyveryverylongword",
		"über allen Gipfeln\nRuh":  "über allen\n  Gipfeln\nRuh",
		"ab averyveryverylongword": "ab\n  averyveryverylongword",
	} {
		if got := folded(text, 12); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
